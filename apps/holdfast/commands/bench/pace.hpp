// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>

/// When workers begin what they do: as fast as they can, or at a fixed rate.
///
/// At a fixed rate each pair has a moment at which it is due, and its latency counts from then: one
/// that had to wait for a slow one before it does not look fast.
namespace holdfast::bench {

struct pace {
    time_point start;
    int workers = 1;
    int rate = 0;  ///< In a second, by all workers together; 0: as fast as they can.

    /// time_point::min(): at once.
    [[nodiscard]] time_point due(int worker, std::uint64_t number) const {
        if (rate == 0) return time_point::min();
        const double turn = static_cast<double>(number) * workers + worker;
        return start +
               std::chrono::duration_cast<duration>(std::chrono::duration<double>(turn / rate));
    }
};

/// One thread's turns, until it is told to stop or the time is over.
class turns {
public:
    turns(const pace& at, int worker, const std::atomic<bool>& stop, time_point end)
        : at_(at), worker_(worker), stop_(stop), end_(end) {}

    /// Sleeps until the next is due, and answers from when it counts; nothing when it is over.
    [[nodiscard]] std::optional<time_point> next() {
        if (stop_.load(std::memory_order_relaxed)) return std::nullopt;
        const time_point now = system_clock().now();
        if (at_.rate == 0) return now;
        const time_point due = at_.due(worker_, number_++);
        if (due >= end_) return std::nullopt;
        if (due > now) std::this_thread::sleep_for(due - now);
        return due;
    }

private:
    pace at_;
    int worker_;
    const std::atomic<bool>& stop_;
    time_point end_;
    std::uint64_t number_ = 0;
};

}  // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <list>

/// Time that moves only when told: for unit tests of code that uses Holdfast, and for our own.
///
/// `advance(30s)` makes thirty seconds pass at once and wakes all sleepers whose time has come. It
/// does not wait for what they do then; wait for the effect itself.
namespace holdfast {

/// Thread safety: all members may be called from any thread.
class virtual_clock final : public clock {
public:
    /// Starts at a fixed moment, so that every run sees the same times.
    virtual_clock() = default;

    [[nodiscard]] time_point now() const noexcept override;
    [[nodiscard]] wall_time wall() const noexcept override;
    void wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                    time_point when) override;

    /// Advances the time, and wakes all sleepers whose time has come.
    /// Requires: by >= 0.
    void advance(duration by);

    /// Returns the number of threads that wait on this clock now: a test can wait until they sleep.
    [[nodiscard]] std::size_t waiting() const;

    /// Returns the earliest time that anyone waits for, or time_point::max() if nobody does.
    [[nodiscard]] time_point next_wake() const;

private:
    struct sleeper {
        std::mutex* mutex;
        std::condition_variable* cv;
        time_point when;
        int pins = 0;
    };

    mutable std::mutex mutex_;
    std::condition_variable unpinned_;
    time_point now_{std::chrono::hours(1)};
    std::list<sleeper> sleepers_;
};

}  // namespace holdfast

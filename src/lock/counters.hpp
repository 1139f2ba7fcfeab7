// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client_statistics.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_mode.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>

/// What a client counts, from any thread.
namespace holdfast::detail {

/// A duration_histogram that is filled from any thread.
class histogram_counter {
public:
    void add(duration d) {
        using namespace std::chrono;
        const auto us = std::max<std::int64_t>(duration_cast<microseconds>(d).count(), 1);
        const auto bucket =
            static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(us)));
        counts_[std::min(bucket, counts_.size()) - 1].fetch_add(1, std::memory_order_relaxed);
        sum_.fetch_add(std::max(d, duration::zero()).count(), std::memory_order_relaxed);
    }
    [[nodiscard]] duration_histogram read() const {
        duration_histogram seen;
        std::ranges::transform(counts_, seen.counts.begin(),
                               [](const auto& c) { return c.load(); });
        seen.sum = duration(sum_.load());
        return seen;
    }

private:
    std::array<std::atomic<std::uint64_t>, duration_histogram::buckets> counts_{};
    std::atomic<duration::rep> sum_{0};
};

struct counters {
    std::atomic<std::uint64_t> acquired{0};
    std::atomic<std::uint64_t> waited{0};
    std::atomic<std::uint64_t> handed_off{0};
    std::atomic<std::uint64_t> passed_on{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> released{0};
    std::atomic<std::uint64_t> renewed{0};
    std::atomic<std::uint64_t> renewal_failures{0};
    std::atomic<std::uint64_t> clock_steps{0};
    /// By kind of lease_mode.
    std::array<std::atomic<std::uint64_t>, 3> waiting{};
    std::atomic<std::uint64_t> lost_expired{0};
    std::atomic<std::uint64_t> lost_missing{0};
    std::atomic<std::uint64_t> lost_evicted{0};
    std::atomic<std::uint64_t> lost_max_hold{0};
    std::atomic<std::uint64_t> lost_closed{0};
    std::atomic<std::uint64_t> observations_dropped{0};
    std::atomic<std::uint64_t> left_to_ttl{0};
    std::atomic<duration> least_slack{duration::max()};
    histogram_counter waiting_time;
    histogram_counter renewal_slack;

    /// Counts its own life.
    class gauge {
    public:
        explicit gauge(std::atomic<std::uint64_t>& value) : value_(value) { ++value_; }
        gauge(const gauge&) = delete;
        gauge& operator=(const gauge&) = delete;
        ~gauge() { --value_; }

    private:
        std::atomic<std::uint64_t>& value_;
    };

    [[nodiscard]] std::atomic<std::uint64_t>& waiting_for(const lease_mode& mode) {
        return waiting[static_cast<std::size_t>(mode.type)];
    }

    static void add(std::atomic<std::uint64_t>& counter) {
        counter.fetch_add(1, std::memory_order_relaxed);
    }

    void add_loss(loss_reason why) {
        switch (why) {
            case loss_reason::missing: return add(lost_missing);
            case loss_reason::evicted: return add(lost_evicted);
            case loss_reason::max_hold: return add(lost_max_hold);
            case loss_reason::closed: return add(lost_closed);
            default: return add(lost_expired);
        }
    }

    void note_slack(duration slack) {
        renewal_slack.add(slack);
        duration least = least_slack.load();
        while (slack < least && !least_slack.compare_exchange_weak(least, slack)) {
        }
    }
};

}  // namespace holdfast::detail

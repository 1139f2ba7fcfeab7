// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>

#include <atomic>

/// What a client counts, from any thread.
namespace holdfast::detail {

struct counters {
    std::atomic<std::uint64_t> acquired{0};
    std::atomic<std::uint64_t> waited{0};
    std::atomic<std::uint64_t> handed_over{0};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<std::uint64_t> failed{0};
    std::atomic<std::uint64_t> released{0};
    std::atomic<std::uint64_t> renewed{0};
    std::atomic<std::uint64_t> renewal_failures{0};
    std::atomic<std::uint64_t> lost{0};
    std::atomic<duration> least_slack{duration::max()};

    static void add(std::atomic<std::uint64_t>& counter) {
        counter.fetch_add(1, std::memory_order_relaxed);
    }

    void note_slack(duration slack) {
        duration least = least_slack.load();
        while (slack < least && !least_slack.compare_exchange_weak(least, slack)) {
        }
    }
};

}  // namespace holdfast::detail

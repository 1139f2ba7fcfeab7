// SPDX-License-Identifier: Apache-2.0
#include "lease/ordered/queue_report.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace holdfast::ordered {
namespace {

constexpr std::size_t most_holders = 500;

std::string client_of(const queue_entry& entry) {
    return entry.owner.substr(0, std::min<std::size_t>(12, entry.owner.size()));
}

}  // namespace

lease_info describe(std::string name, const queue_order& queue, const remaining_time& remaining,
                    with_queue detail) {
    lease_info info;
    info.name = std::move(name);
    std::uint32_t permits = 0;
    for (const queue_entry& one : queue.entries()) {
        if (!queue.holds(one)) {
            ++info.waiters;
            if (detail == with_queue::no) continue;
            info.queue.push_back(
                {.who = one.who, .since = one.since, .mode = one.mode, .client = client_of(one)});
            continue;
        }
        info.mode = one.mode;
        permits += one.mode.permits;
        info.fence = one.fence();
        const auto left = remaining(one.lease);
        if (left) info.remaining = std::max(info.remaining.value_or(duration::zero()), *left);
        if (info.holders.size() >= most_holders) continue;
        info.holders.push_back({.who = one.who,
                                .since = one.since,
                                .fence = one.fence(),
                                .remaining = left,
                                .permits = one.mode.permits,
                                .client = client_of(one),
                                .note = one.note});
    }
    if (info.mode.type == lease_mode::kind::permit) info.mode.permits = permits;
    return info;
}

}  // namespace holdfast::ordered

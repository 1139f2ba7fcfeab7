// SPDX-License-Identifier: Apache-2.0
#include "traffic/local_share.hpp"

#include <algorithm>

namespace holdfast::detail {

local_share::local_share(const std::vector<limit>& limits, std::uint32_t processes,
                         std::size_t most_keys)
    : most_keys_(std::max<std::size_t>(most_keys, 1)) {
    for (const limit& one : limits) {
        const std::uint64_t capacity = capacity_of(one.rule);
        const duration window = window_of(one.rule);
        const double each = static_cast<double>(window.count()) * processes /
                            static_cast<double>(std::max<std::uint64_t>(capacity, 1));
        constexpr double longest = 1e18;  // of nanoseconds, some thirty years
        const duration per_token(
            std::max<std::int64_t>(1, static_cast<std::int64_t>(std::min(each, longest))));
        buckets_.push_back({std::max(window, per_token), per_token,
                            std::max<std::uint64_t>(1, capacity / processes)});
        names_.push_back(limits.size() > 1 ? one.name : std::string());
    }
    crowd_.resize(buckets_.size());
}

local_share::debts& local_share::debts_of(std::string_view key, time_point now) {
    if (const auto found = keys_.find(key); found != keys_.end()) return found->second;
    if (keys_.size() >= most_keys_ && now >= next_sweep_) {
        constexpr duration rest = std::chrono::milliseconds(100);
        next_sweep_ = now + rest;
        std::erase_if(keys_, [&](const auto& one) { return std::ranges::max(one.second) <= now; });
    }
    if (keys_.size() >= most_keys_) return crowd_;
    return keys_.emplace(std::string(key), debts(buckets_.size())).first->second;
}

decision local_share::take(std::string_view key, std::uint64_t n, time_point now) {
    const std::scoped_lock guard(mutex_);
    decision made{.allowed = true, .source = decided_by::policy};
    debts& owed = debts_of(key, now);
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        const bucket& b = buckets_[i];
        const duration level = std::max(owed[i], now) - now;
        const auto fits = static_cast<std::uint64_t>((b.full - level) / b.per_token);
        if (level <= b.full && n <= fits) continue;
        duration wait = decision::never;
        if (n <= static_cast<std::uint64_t>(b.full / b.per_token)) {
            wait = level + b.per_token * static_cast<std::int64_t>(n) - b.full;
        }
        if (!made.allowed && wait <= made.retry_after) continue;
        made.allowed = false;
        made.retry_after = wait;
        made.limit = b.capacity;
        made.reset_after = level;
        made.binding = names_[i];
    }
    if (!made.allowed) return made;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        const bucket& b = buckets_[i];
        owed[i] = std::max(owed[i], now) + b.per_token * static_cast<std::int64_t>(n);
        const duration level = owed[i] - now;
        const auto left = static_cast<std::uint64_t>((b.full - level) / b.per_token);
        if (i > 0 && left >= made.remaining) continue;
        made.limit = b.capacity;
        made.remaining = left;
        made.reset_after = level;
        made.binding = names_[i];
    }
    return made;
}

}  // namespace holdfast::detail

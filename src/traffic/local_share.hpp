// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traffic/decision_cache.hpp"

#include <holdfast/decision.hpp>
#include <holdfast/limit.hpp>

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The limit that a process keeps by itself while the engine is away: a share of each rule.
///
/// Whatever the rule is, the share is a bucket in this process: a share of the capacity from rest,
/// and the same share of its rate. If every process keeps its share, all of them together keep the
/// rate. At least one is allowed now and then, so that a small share is not nothing.
///
/// It is bounded, and forgets nobody who owes: keys for which there is no room share one bucket.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class local_share {
public:
    local_share(const std::vector<limit>& limits, std::uint32_t processes, std::size_t most_keys);

    [[nodiscard]] decision take(std::string_view key, std::uint64_t n, time_point now);

private:
    struct bucket {
        duration full;       ///< What it may owe.
        duration per_token;  ///< What one costs.
        std::uint64_t capacity;
    };
    using debts = std::vector<time_point>;  ///< When each limit's bucket owes nothing any more.
    [[nodiscard]] debts& debts_of(std::string_view key, time_point now);

    std::vector<bucket> buckets_;
    std::vector<std::string> names_;
    std::size_t most_keys_;
    std::mutex mutex_;
    std::unordered_map<std::string, debts, text_hash, std::equal_to<>> keys_;
    debts crowd_;  ///< Of all for whom there is no room.
    time_point next_sweep_{};
};

}  // namespace holdfast::detail

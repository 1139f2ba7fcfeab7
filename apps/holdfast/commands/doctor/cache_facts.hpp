// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/doctor/finding.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

/// What a sample of a server's keys says of its caches, sessions and leaderboards. Pure: how a
/// server is asked is an argument.
namespace holdfast::app {

/// What is known of one key.
struct key_facts {
    std::string name;
    bool lasts = false;      ///< It has no expiry.
    bool is_entry = false;   ///< Of a cache.
    bool is_board = false;   ///< The players of a leaderboard, or of a segment.
    std::uint64_t size = 0;  ///< Bytes of an entry, or players.
};

struct key_sample {
    std::uint64_t seen = 0;     ///< Keys of all kinds.
    std::uint64_t entries = 0;  ///< Of caches.
    std::uint64_t lasting = 0;  ///< Keys of Holdfast's that should expire, and do not …
    std::string lasting_one;    ///< … and one of them.
    std::uint64_t big = 0;      ///< Entries above `big_entry`.
    key_facts biggest;
    key_facts widest;  ///< The largest board of one sorted set above `wide_board`.

    static constexpr std::uint64_t big_entry = std::uint64_t{1} << 20U;
    static constexpr std::uint64_t wide_board = 10'000'000;

    void add(const key_facts& one);
};

/// As INFO tells it, by `keyspace_hits` and `keyspace_misses`; nothing before the first read.
[[nodiscard]] std::optional<double> hit_ratio(
    const std::map<std::string, std::string, std::less<>>& info);

/// Nothing, if there is nothing of the kind on the server.
[[nodiscard]] findings judge_sample(const key_sample& sample, std::optional<double> hits,
                                    const std::string& where);

}  // namespace holdfast::app

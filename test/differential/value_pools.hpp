// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// What the words of random commands are drawn from.
///
/// The pools are small, so that commands meet the same keys, fields and members again and again,
/// and full of what parsers get wrong. No value makes a server allocate much (SETBIT at 2^32 - 1
/// would), and none makes an outcome depend on the moment: relative expiries are far away and never
/// repeat within a sequence, so that GT and LT do not compare two nearly equal times.
namespace holdfast::test {

class value_pools {
public:
    explicit value_pools(std::uint64_t seed) : random_(seed) {}

    /// A word of the pool with that name ("key", "int", …). Throws std::out_of_range for none.
    [[nodiscard]] std::string draw(std::string_view pool);

    [[nodiscard]] std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    [[nodiscard]] bool chance(unsigned percent) { return below(100) < percent; }

    /// All keys that commands of any kind meet. The sorted sets "y1" and "y2", whose members all
    /// have the same score, are kept apart from them.
    [[nodiscard]] static const std::vector<std::string>& all_keys();

private:
    [[nodiscard]] std::string key_for(char kind);
    [[nodiscard]] std::int64_t far_seconds();

    // style: allow chance, because the standard fixes its sequence: a seed in an old report replays
    std::mt19937_64 random_;
    std::uint64_t expiries_ = 0;
    std::uint64_t stream_ms_ = 1;
};

/// Is this one of the absolute times in the pools (seconds or milliseconds)?
[[nodiscard]] bool is_written_down(std::int64_t time);

}  // namespace holdfast::test

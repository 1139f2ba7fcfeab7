// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/limit.hpp>

#include <cstdint>
#include <string_view>

/// A rate as people write it: 10/min, 1/s, 500/day, 3/90s.
namespace holdfast::app {

struct rate {
    std::uint64_t amount = 0;
    duration period{};
};

/// Errors: invalid_argument; the detail says how to write one.
[[nodiscard]] result<rate> parse_rate(std::string_view text);

/// At most so many in any such time (a sliding log, or a strict sliding counter where that would be
/// long); with a burst, a token bucket that holds so many and is refilled at the rate.
[[nodiscard]] limit_rule rule_of(const rate& r, std::uint64_t burst);

}  // namespace holdfast::app

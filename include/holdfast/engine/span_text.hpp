// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <string>
#include <string_view>

/// Spans of time as people write them, in URLs and on command lines.
namespace holdfast {

/// "500us", "200ms", "10s", "2m", "1h", or 0; at most a year. Errors: invalid_argument.
[[nodiscard]] result<duration> parse_span(std::string_view text);

/// As parse_span takes it: the largest unit that says it exactly.
[[nodiscard]] std::string show_span(duration d);

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Numbers as Redis reads and writes them: strict on the way in, exact on the way out.
namespace holdfast::memory {

using number_text = std::array<char, 64>;

/// Decimal digits with an optional minus: no plus, no leading zeros, no blanks.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text) noexcept;

/// What strtod takes, as a whole, without leading blanks; not NaN, not out of range.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
[[nodiscard]] std::optional<long double> parse_long_double(std::string_view text);

/// The text lies in `room`.
[[nodiscard]] std::string_view format_integer(std::int64_t value, number_text& room) noexcept;

/// "%.17g": a score, or a script's number as a word.
[[nodiscard]] std::string_view format_double(double value, number_text& room) noexcept;

/// "%.17Lf" without trailing zeros: what INCRBYFLOAT stores.
[[nodiscard]] std::string format_long_double(long double value);

/// Do the words match, whatever their case? Requires: `lower` is in lower case.
[[nodiscard]] bool is_word(std::string_view text, std::string_view lower) noexcept;

}  // namespace holdfast::memory

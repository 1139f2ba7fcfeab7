// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cctype>
#include <span>
#include <string_view>

/// The first word of a command, which may be in any case.
namespace holdfast::detail {

[[nodiscard]] inline bool is_among(std::string_view word, std::span<const std::string_view> list) {
    const auto same = [](unsigned char a, unsigned char b) {
        return std::toupper(a) == std::toupper(b);
    };
    return std::ranges::any_of(
        list, [&](std::string_view one) { return std::ranges::equal(word, one, same); });
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// UTF-8 text, one character after the other.
namespace holdfast::detail {

/// Takes the first character off the text, and answers its number in Unicode. A byte that begins no
/// character is one by itself.
/// Requires: the text is not empty.
[[nodiscard]] char32_t take_character(std::string_view& text);

}  // namespace holdfast::detail

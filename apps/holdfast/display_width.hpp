// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// How much room UTF-8 text takes on a terminal.
///
/// A Chinese character or an emoji takes two columns, an accent that is put onto a letter takes
/// none. By the C library's tables (wcwidth), whatever the user's own locale is.
namespace holdfast::app {

/// What the text takes in one line. What cannot be shown counts one.
[[nodiscard]] int columns(std::string_view text);

/// Exactly so many columns: cut with an ellipsis, or filled with blanks.
[[nodiscard]] std::string fit(std::string_view text, int width);

/// As lines of at most `width` columns, broken at blanks.
[[nodiscard]] std::string wrapped(std::string_view text, int width, int indent);

/// The text so many times.
[[nodiscard]] std::string repeated(std::string_view text, int count);

}  // namespace holdfast::app

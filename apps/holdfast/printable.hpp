// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

/// Other people's words, for a terminal: it must not obey them.
///
/// Names, labels, reasons and what was recorded are written by others, and may hold anything. A
/// control character could clear the screen, change its colours or draw over what we say; one that
/// turns the direction of writing could make a text look like another.
namespace holdfast::app {

/// The text on one line, with what a terminal would obey, and what is no text, escaped: "\n",
/// "\x1b", "\u202e". Everything else is as it was. Pure.
[[nodiscard]] std::string printable(std::string_view text);

/// The same for a text of several lines, which stay lines; tabs stay too.
[[nodiscard]] std::string printable_lines(std::string_view text);

}  // namespace holdfast::app

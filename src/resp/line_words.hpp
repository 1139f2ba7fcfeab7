// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The words of a line that a person typed: SET greeting "hello\r\nworld".
namespace holdfast::resp {

/// Divided by blanks. In double quotes \n \r \t \b \a \xFF stand for bytes, and \ before another
/// character for it; in single quotes only \' does. Nothing if a quote is not closed, or goes on
/// after it is.
[[nodiscard]] std::optional<std::vector<std::string>> split_line(std::string_view line);

/// A word as MONITOR shows it: in double quotes, with what is not printable escaped.
void append_quoted(std::string& to, std::string_view word);

}  // namespace holdfast::resp

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

/// What is wrong with a line of words, in our words: one sentence that also says what would be
/// right. CLI11's own are about its inside.
namespace holdfast::app {

/// "ls, show, watch".
[[nodiscard]] std::string names_of_commands(const CLI::App& words);

/// A word that nobody expected, with the nearest one that would be right. Empty if there is none.
[[nodiscard]] std::string unexpected_word(const CLI::App& top);

/// What is wrong with a line that was read, by what CLI11 found if it found something. Empty if all
/// is well.
[[nodiscard]] std::string what_is_wrong(const CLI::App& top, const std::vector<std::string>& line,
                                        const CLI::ParseError* found);

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

/// Bugs in the C++: copies of the sources with a switch for each bug, for the preset `mutants`.
namespace holdfast::sim {

/// The C++ files that mutants change, from the top of the tree, sorted.
[[nodiscard]] std::vector<std::string_view> mutated_files();

/// The file's text with every bug of that file in it, each behind its mutation():
///
///     a statement (it ends with ';')   if (mutation("name")) {instead} else {text}
///     anything else is an expression   (mutation("name") ? (instead) : (text))
///
/// Errors: a sentence, if a mutant's text is not there exactly once, or overlaps another's.
[[nodiscard]] std::expected<std::string, std::string> mutated_source(std::string_view file,
                                                                     const std::string& text);

}  // namespace holdfast::sim

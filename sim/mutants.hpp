// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

/// The bugs that can be switched on, one at a time: a text that is replaced, in a script
/// (script_mutants.hpp) or in a copy of a C++ file (source_mutants.hpp). The code that is shipped
/// knows nothing of them. docs/internals/simulation.md lists by what each is found.
namespace holdfast::sim {

struct mutant {
    std::string_view name;
    std::string_view what;
    /// The C++ file, from the top of the tree; empty: it is in a script.
    std::string_view file;
    /// What is replaced, and by what. In C++, [[ ]] may be around the part that is replaced, where
    /// that alone is not unique in its file.
    std::string_view text;
    std::string_view instead;
};

[[nodiscard]] std::span<const mutant> all_mutants() noexcept;

/// Null if there is none of that name.
[[nodiscard]] const mutant* find_mutant(std::string_view name) noexcept;

}  // namespace holdfast::sim

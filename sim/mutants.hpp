// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

/// The bugs that can be switched on, one at a time: see core/mutation.hpp.
namespace holdfast::sim {

struct mutant {
    std::string_view name;
    std::string_view what;
    /// In a script: what is replaced, and by what. Empty: it is in the C++.
    std::string_view script_text = {};
    std::string_view instead = {};
};

[[nodiscard]] std::span<const mutant> all_mutants() noexcept;

/// Null if there is none of that name.
[[nodiscard]] const mutant* find_mutant(std::string_view name) noexcept;

}  // namespace holdfast::sim

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Which bug of mutants.hpp is switched on. Only the mutated copies of the sources ask for it
/// (source_mutants.hpp), so it exists with HOLDFAST_MUTANTS alone.
namespace holdfast {

[[nodiscard]] bool is_chosen_mutation(std::string_view name) noexcept;

/// A constant is computed as it should be: nothing is chosen while the compiler runs.
[[nodiscard]] constexpr bool mutation(std::string_view name) noexcept {
    if consteval {
        return false;
    } else {
        return is_chosen_mutation(name);
    }
}

/// For the whole process, before the first thing is done. Empty: none.
void choose_mutation(std::string_view name);

}  // namespace holdfast

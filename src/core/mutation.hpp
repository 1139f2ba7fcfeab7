// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Wrong on purpose: bugs that the simulation must find.
///
/// A place that could have been written wrong asks whether it shall be. Without HOLDFAST_MUTANTS
/// the answer is a constant no, and nothing of it is compiled in; with it, `holdfast-sim --mutant`
/// chooses one for the whole process. docs/internals/simulation.md lists them all, and by what each
/// is found.
///
/// Ask it in an `if`, or beside something that only the running program knows. A constant that is
/// made of its answer alone is made by the compiler, for whom the answer is no.
namespace holdfast {

#ifdef HOLDFAST_MUTANTS
[[nodiscard]] bool is_chosen_mutation(std::string_view name) noexcept;

[[nodiscard]] constexpr bool mutation(std::string_view name) noexcept {
    if consteval {
        return false;
    } else {
        return is_chosen_mutation(name);
    }
}

/// Before the first thing is done. Empty: none.
void choose_mutation(std::string_view name);
#else
[[nodiscard]] constexpr bool mutation(std::string_view /*name*/) noexcept {
    return false;
}
#endif

}  // namespace holdfast

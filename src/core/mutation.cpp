// SPDX-License-Identifier: Apache-2.0
#include "core/mutation.hpp"

#include <string>

namespace holdfast {

#ifdef HOLDFAST_MUTANTS
namespace {

std::string& chosen() {
    static std::string name;
    return name;
}

}  // namespace

bool is_chosen_mutation(std::string_view name) noexcept {
    return chosen() == name;
}

void choose_mutation(std::string_view name) {
    chosen() = name;
}
#endif

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "mutation.hpp"

#include <string>

namespace holdfast {
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

}  // namespace holdfast

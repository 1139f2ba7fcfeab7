// SPDX-License-Identifier: Apache-2.0
#include "script_mutants.hpp"

namespace holdfast::sim {

void mutate_script(std::vector<std::string_view>& /*words*/) {}

std::string_view stale_script_mutant() {
    return {};
}

}  // namespace holdfast::sim

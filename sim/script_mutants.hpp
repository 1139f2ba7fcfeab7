// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

/// Bugs in the scripts: the chosen one is written into a script on its way to the server.
namespace holdfast::sim {

/// Replaces the script of an EVAL or EVALSHA by its mutant, if one is chosen that concerns it.
/// Without HOLDFAST_MUTANTS it does nothing.
void mutate_script(std::vector<std::string_view>& words);

}  // namespace holdfast::sim

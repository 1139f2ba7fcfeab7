// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "differential/operation.hpp"
#include "differential/value_pools.hpp"

#include <string>

/// Random Lua scripts: calls of random commands, and every conversion between Lua and replies.
namespace holdfast::test {

struct drawn_script {
    std::string source;
    /// It returns what Redis answers in an order of its own.
    bool unordered = false;
};

[[nodiscard]] drawn_script draw_script(value_pools& pools);

/// EVAL of a random script, or SCRIPT LOAD and EVALSHA of one, or a misuse of these.
[[nodiscard]] std::vector<operation> draw_script_steps(value_pools& pools);

}  // namespace holdfast::test

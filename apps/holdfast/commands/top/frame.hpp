// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/top/pulse.hpp"
#include "terminal.hpp"

#include <holdfast/lease_info.hpp>
#include <holdfast/tasks/task.hpp>

#include <map>
#include <string>
#include <vector>

/// One picture of `holdfast top`, as lines of text. Pure: what is seen and how large the screen is
/// are arguments.
namespace holdfast::app {

struct top_view {
    std::string engine;  ///< Redacted.
    std::string time;
    std::string hint;     ///< How to quit; empty if it does so by itself.
    std::string trouble;  ///< Why there is nothing newer; empty if there is.
    std::vector<lease_info> leases;
    pulse rates;
    /// The longest time that was left of each name: what a full bar means.
    std::map<std::string, duration> full;
    /// Those that run, if the engine keeps any.
    std::vector<task_info> tasks = {};
};

struct screen_size {
    int columns;
    int rows;
};

/// At most size.rows lines of at most size.columns columns, without newlines.
[[nodiscard]] std::vector<std::string> draw(const top_view& view, screen_size size,
                                            const terminal& out);

}  // namespace holdfast::app

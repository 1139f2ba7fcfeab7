// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"
#include "engine_choice.hpp"

#include <string>

/// What an operator may do with locks; each is a file of its own.
namespace holdfast::app {

void add_lock_ls(CLI::App& to, command_list& all);
void add_lock_show(CLI::App& to, command_list& all);
void add_lock_watch(CLI::App& to, command_list& all);
void add_lock_break(CLI::App& to, command_list& all);
void add_lock_wait(CLI::App& to, command_list& all);

/// What those that look have in common.
struct lock_look_options {
    engine_options engine;
    std::string name;  ///< Or the beginning of names.
    std::string format = "text";
};

/// --format, --engine, --engine-file.
void add_look_options(CLI::App& to, lock_look_options& options);

}  // namespace holdfast::app

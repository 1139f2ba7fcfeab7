// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"

/// The measurements; each is a file of its own.
namespace holdfast::app {

void add_bench_locks(CLI::App& to, command_list& all);
void add_bench_keeper(CLI::App& to, command_list& all);
void add_bench_handoff(CLI::App& to, command_list& all);
void add_bench_limit(CLI::App& to, command_list& all);
void add_bench_raw(CLI::App& to, command_list& all);

/// The two options that all of them take.
void add_bench_options(CLI::App& to, std::string& engine, std::string& format);

/// Says on stderr why a measurement could not be made.
[[nodiscard]] exit_code cannot_measure(const error& why);

}  // namespace holdfast::app

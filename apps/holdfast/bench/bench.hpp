// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "bench/figure.hpp"
#include "command_line.hpp"

#include <string>
#include <vector>

/// The measurements; each is a file of its own.
namespace holdfast::app {

void add_bench_locks(CLI::App& to, command_list& all);
void add_bench_keeper(CLI::App& to, command_list& all);
void add_bench_handoff(CLI::App& to, command_list& all);
void add_bench_limit(CLI::App& to, command_list& all);
void add_bench_raw(CLI::App& to, command_list& all);

/// What all of them are asked.
struct bench_options {
    std::string engine;
    std::string format = "table";
    std::string plot{};  ///< Where to draw the figures; empty: nowhere.
    std::string cpus = "shared";
    /// What --help says of --engine.
    std::string engines = "What to measure: memory:, redis:, redis://host:port";
};

void add_bench_options(CLI::App& to, bench_options& options);

/// Prints the figures, and draws them if that was asked for.
[[nodiscard]] exit_code report(const std::vector<figure>& figures, const bench_options& options);

/// Says on stderr why a measurement could not be made.
[[nodiscard]] exit_code cannot_measure(const error& why);

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"
#include "commands/bench/figure.hpp"

#include <functional>
#include <string>
#include <vector>

/// The measurements; each is a file of its own.
namespace holdfast::app {

void add_bench_locks(CLI::App& to, command_list& all);
void add_bench_keeper(CLI::App& to, command_list& all);
void add_bench_handoff(CLI::App& to, command_list& all);
void add_bench_limit(CLI::App& to, command_list& all);
void add_bench_cache(CLI::App& to, command_list& all);
void add_bench_board(CLI::App& to, command_list& all);
void add_bench_raw(CLI::App& to, command_list& all);
void add_bench_tasks(CLI::App& to, command_list& all);

/// What --help says of --engine where every engine can be measured.
inline constexpr const char* every_engine = "memory:, sqlite:, redis:, redlock:";

/// The last line of their --help.
inline constexpr const char* bench_exit_codes =
    "Exit codes: 0 measured, 1 no plot could be drawn, 2 misuse, 5 no answer\n";

/// What all of them are asked.
struct bench_options {
    std::string engine;
    std::string format = "table";
    std::string plot{};  ///< Where to draw the figures; empty: nowhere.
    std::string cpus = "shared";
    /// What --help says of --engine.
    std::string engines = "memory:, redis: or redis://host:port";
};

void add_bench_options(CLI::App& to, bench_options& options);

/// Who works; of the last two, those that a measurement has.
struct worker_options {
    int* threads;
    int* processes = nullptr;
    int* tasks = nullptr;
};

/// --threads, --processes and --tasks, of which one may be said; `threads` is the first one's help.
/// Answers the option --threads.
CLI::Option* add_workers(CLI::App& to, const worker_options& into, const std::string& threads);

/// --rate.
void add_fixed_rate(CLI::App& to, int& rate);

/// An option of the other measurements that means nothing here: it is not in --help, and who says
/// it is told why.
void add_refusal(CLI::App& to, const std::string& name, const std::string& why);

/// Puts a measurement into the list. What can be seen to be wrong with `options` is said before it
/// runs, not after minutes.
/// Requires: `measure` keeps `options` alive.
void add_measurement(command_list& all, CLI::App* words, const bench_options& options,
                     std::function<exit_code()> measure);

/// Prints the figures, and draws them if that was asked for.
[[nodiscard]] exit_code report(const std::vector<figure>& figures, const bench_options& options);

/// Says on stderr why a measurement could not be made.
[[nodiscard]] exit_code cannot_measure(const error& why);

}  // namespace holdfast::app

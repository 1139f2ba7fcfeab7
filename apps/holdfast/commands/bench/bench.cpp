// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench: how fast it is, next to something well known that is measured in the same run.
#include "commands/bench/bench.hpp"

#include "commands/bench/plot.hpp"
#include "error_output.hpp"
#include "option_types.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace holdfast::app {

void add_bench(CLI::App& to, command_list& all) {
    CLI::App* words =
        to.add_subcommand("bench", "Measure Holdfast against a reference in the same run");
    words->footer(
        "Examples:\n"
        "  holdfast bench locks --engine memory: --format json\n"
        "  holdfast bench handoff --engine redis://localhost --processes 8 --hold 1ms\n"
        "\n"
        "redis: and redlock: without a host start their own redis-servers, and end "
        "them; so does sqlite: with a file. A ratio is the median of the rounds' ratios.\n"
        "Exit codes: 0 measured, 1 a lease was lost or no plot, 2 misuse, 5 no answer\n");
    add_bench_locks(*words, all);
    add_bench_keeper(*words, all);
    add_bench_handoff(*words, all);
    add_bench_limit(*words, all);
    add_bench_cache(*words, all);
    add_bench_board(*words, all);
    add_bench_raw(*words, all);
#ifdef HOLDFAST_BENCH_SQLITE
    add_bench_tasks(*words, all);
#endif
}

void add_bench_options(CLI::App& to, bench_options& options) {
    add_text(to, "--engine", options.engine, options.engines);
    add_choice(to, "--format", options.format, {"table", "json"}, "A table, or a line per figure");
    to.add_option("--plot", options.plot, "Also draw the figures into this file")
        ->check([](const std::string& said) {  // an unset variable of a script, most likely
            return said.empty() ? "is empty: say a file, or leave it out" : std::string();
        })
        ->type_name("FILE.svg");
    add_choice(to, "--cpus", options.cpus, {"shared", "apart"},
               "apart: our own server gets a processor");
}

CLI::Option* add_workers(CLI::App& to, const worker_options& into, const std::string& threads) {
    auto* by_threads = add_whole(to, "--threads", *into.threads, {1, 1024}, threads);
    CLI::Option* by_processes = nullptr;
    if (into.processes != nullptr) {
        by_processes = add_whole(to, "--processes", *into.processes, {1, 1000},
                                 "Processes, each with its own client");
        by_processes->default_str("")->excludes(by_threads);
    }
    if (into.tasks != nullptr) {
        auto* tasks =
            add_whole(to, "--tasks", *into.tasks, {1, 100'000}, "Coroutines on one thread");
        tasks->default_str("")->excludes(by_threads);
        if (by_processes != nullptr) tasks->excludes(by_processes);
    }
    return by_threads;
}

void add_fixed_rate(CLI::App& to, int& rate) {
    add_whole(to, "--rate", rate, {1, 10'000'000}, "N per second, at a fixed rate; no reference")
        ->default_str("");
}

// CLI11 leaves the name of a hidden option out of what it says itself.
void add_refusal(CLI::App& to, const std::string& name, const std::string& why) {
    to.add_option_function<std::string>(
          name, [name, why](const std::string&) { throw CLI::ValidationError(name, why); })
        ->expected(0, 1)
        ->group("");
}

void add_measurement(command_list& all, CLI::App* words, const bench_options& options,
                     std::function<exit_code()> measure) {
    all.push_back({words, [&options, measure = std::move(measure)] {
                       if (!options.plot.empty()) {
                           const auto drawable = can_draw(options.plot);
                           if (!drawable) return cannot_measure(drawable.error());
                       }
                       return measure();
                   }});
}

exit_code report(const std::vector<figure>& figures, const bench_options& options) {
    for (const figure& f : figures) {
        fmt::print("{}\n", options.format == "json" ? to_json(f) : to_table(f));
    }
    std::fflush(stdout);
    if (options.plot.empty()) return exit_code::success;
    const auto drawn = draw(figures, options.plot);
    if (drawn) return exit_code::success;
    complain(drawn.error().detail);
    return exit_code::failure;
}

exit_code cannot_measure(const error& why) {
    complain(why.detail);
    return exit_code_of(why.code);
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench: how fast it is, next to something well known that is measured in the same run.
#include "bench/bench.hpp"

#include "bench/plot.hpp"
#include "option_types.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>

namespace holdfast::app {

void add_bench(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("bench", "Measure, next to a reference in the same run");
    words->footer(
        "Examples:\n"
        "  holdfast bench locks --engine memory: --format json\n"
        "  holdfast bench locks --engine redis: --threads 64\n"
        "  holdfast bench locks --engine redlock: --hung 1\n"
        "  holdfast bench handoff --engine redis://localhost:6379 --processes 8 --hold 1ms\n"
        "  holdfast bench keeper --leases 100000 --ttl 10s\n"
        "\n"
        "redis: and redlock: without a host start redis-servers of their own, and end them.\n");
    add_bench_locks(*words, all);
    add_bench_keeper(*words, all);
    add_bench_handoff(*words, all);
    add_bench_limit(*words, all);
    add_bench_raw(*words, all);
}

void add_bench_options(CLI::App& to, bench_options& options) {
    add_text(to, "--engine", options.engine, options.engines);
    add_choice(to, "--format", options.format, {"table", "json"},
               "For people, or a line for each figure");
    to.add_option("--plot", options.plot, "Draw the figures into this file too")
        ->type_name("FILE.svg");
    add_choice(to, "--cpus", options.cpus, {"shared", "apart"},
               "apart: a server of its own gets its own processor");
}

exit_code report(const std::vector<figure>& figures, const bench_options& options) {
    for (const figure& f : figures) {
        fmt::print("{}\n", options.format == "json" ? to_json(f) : to_table(f));
    }
    std::fflush(stdout);
    if (options.plot.empty()) return exit_code::success;
    const auto drawn = draw(figures, options.plot);
    return drawn ? exit_code::success : cannot_measure(drawn.error());
}

exit_code cannot_measure(const error& why) {
    fmt::print(stderr, "holdfast: {}\n", why.detail);
    return exit_code_of(why.code);
}

}  // namespace holdfast::app

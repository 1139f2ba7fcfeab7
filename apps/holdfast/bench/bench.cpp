// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench: how fast it is, next to something well known that is measured in the same run.
#include "bench/bench.hpp"

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
        "  holdfast bench handoff --engine redis://localhost:6379 --processes 8 --hold 1ms\n"
        "  holdfast bench keeper --leases 100000 --ttl 10s\n"
        "\n"
        "redis: without a host starts a redis-server of its own on a free port, and ends it.\n");
    add_bench_locks(*words, all);
    add_bench_keeper(*words, all);
    add_bench_handoff(*words, all);
    add_bench_limit(*words, all);
    add_bench_raw(*words, all);
}

void add_bench_options(CLI::App& to, std::string& engine, std::string& format) {
    add_text(to, "--engine", engine, "What to measure: memory:, redis:, redis://host:port");
    add_choice(to, "--format", format, {"table", "json"}, "For people, or a line for each figure");
}

exit_code cannot_measure(const error& why) {
    fmt::print(stderr, "holdfast: {}\n", why.detail);
    return exit_code_of(why.code);
}

}  // namespace holdfast::app

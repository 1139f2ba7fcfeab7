// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench raw: the Redis client alone, without locks.
//
// Pairs of SET NX PX and compare-and-delete by three ways to the same server, in turns: threads
// that share one engine, coroutines that share it, and a blocking hiredis connection for each
// thread.
#include "bench/bench.hpp"
#include "bench/bench_engine.hpp"
#include "bench/figure.hpp"
#include "bench/progress.hpp"
#include "option_types.hpp"
#include "raw_pairs.hpp"

#include <holdfast/redis.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

namespace holdfast::app {
namespace {

constexpr int enough_to_fill_a_pipeline = 64;

struct raw_options {
    bench_options common{.engine = "redis:"};
    int threads = 64;
    int seconds = 5;
    int rounds = 3;
};

/// One way's figures of all rounds.
struct way_log {
    std::vector<double> rates;
    std::vector<double> ratios;
    std::vector<double> p50;
    std::vector<double> p99;
    std::vector<double> cpu;
    std::vector<double> server_cpu;

    /// What the server did meanwhile.
    void add_cost(const std::optional<server_account>& before,
                  const std::optional<server_account>& after, double pairs) {
        if (!before || !after || pairs <= 0) return;
        server_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 / pairs);
    }
    void add(const bench::pairs_result& r, double reference) {
        rates.push_back(r.pairs_per_second);
        ratios.push_back(r.pairs_per_second / reference);
        p50.push_back(r.p50_us);
        p99.push_back(r.p99_us);
        cpu.push_back(r.client_cpu_us);
    }
};

struct measured {
    way_log threads;
    way_log coroutines;
    way_log blocking;
    std::vector<double> references;
};

result<void> round(const raw_options& options, const bench_engine& engine, progress& shown,
                   measured& seen) {
    const auto& [host, port] = engine.reference;
    const bench::pairs_options wanted{
        .workers = options.threads,
        .length = std::chrono::milliseconds(1000 * options.seconds / options.rounds)};
    auto redis = open_redis(engine.url);
    if (!redis) return std::unexpected(std::move(redis.error()));
    const auto measure = [&](const char* name, way_log& log, const auto& run) {
        shown.step(name);
        const auto before = engine.account();
        bench::pairs_result r = run();
        const double seconds = std::chrono::duration<double>(wanted.length).count();
        log.add_cost(before, engine.account(), r.pairs_per_second * seconds);
        return r;
    };
    const auto threads =
        measure("threads", seen.threads, [&] { return bench::pairs_by_threads(**redis, wanted); });
    const auto coroutines = measure("coroutines", seen.coroutines,
                                    [&] { return bench::pairs_by_coroutines(**redis, wanted); });
    const auto blocking = measure("blocking connections", seen.blocking, [&] {
        return bench::pairs_by_blocking_pool(host, port, wanted);
    });
    for (const auto* r : {&threads, &coroutines, &blocking}) {
        if (r->failures == 0 && r->pairs_per_second > 0) continue;
        return fail(errc::unavailable, fmt::format("{}: {} pairs failed; the first: {}", r->way,
                                                   r->failures, r->first_failure));
    }
    double reference = blocking.pairs_per_second;
    shown.step("reference");
    if (options.threads >= enough_to_fill_a_pipeline) {
        reference = bench::benchmark_pair_limit(host, port, enough_to_fill_a_pipeline, 16);
    }
    seen.threads.add(threads, reference);
    seen.coroutines.add(coroutines, reference);
    seen.blocking.add(blocking, reference);
    seen.references.push_back(reference);
    return {};
}

figure figure_of(const std::string& name, const way_log& log, const raw_options& options,
                 const bench_engine& engine, const measured& seen) {
    const bool pipelined = options.threads >= enough_to_fill_a_pipeline;
    return {.bench = "raw " + name,
            .engine = engine.label,
            .workers = options.threads,
            .seconds = static_cast<double>(options.seconds),
            .cpus = engine.cpus,
            .per_second = median(log.rates),
            .reference = reference_rate{pipelined ? "redis-benchmark -c 64 -P 16"
                                                  : "blocking hiredis connections",
                                        median(seen.references)},
            .ratio = median(log.ratios),
            .ratio_rounds = spread_of(log.ratios),
            .client_cpu_us = median(log.cpu),
            .server_cpu_us = median_if_any(log.server_cpu),
            .pair_us = percentiles{median(log.p50), median(log.p99)}};
}

exit_code run_raw(const raw_options& options) {
    const auto engine = bench_engine::make(options.common);
    if (!engine) return cannot_measure(engine.error());
    if (engine->of == bench_engine::kind::in_process) {
        return cannot_measure(
            {errc::invalid_argument, "--engine: bench raw measures the Redis client; take redis:"});
    }
    measured seen;
    {
        progress shown("bench raw", 4 * options.rounds);
        for (int i = 0; i < options.rounds; ++i) {
            const auto done = round(options, *engine, shown, seen);
            if (!done) return cannot_measure(done.error());
        }
    }
    return report({figure_of("threads", seen.threads, options, *engine, seen),
                   figure_of("coroutines", seen.coroutines, options, *engine, seen),
                   figure_of("blocking", seen.blocking, options, *engine, seen)},
                  options.common);
}

}  // namespace

void add_bench_raw(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<raw_options>();
    CLI::App* words = to.add_subcommand("raw", "The Redis client alone: plain pairs of commands");
    add_bench_options(*words, options->common);
    add_whole(*words, "--threads", options->threads, {1, 1024}, "Threads, and coroutines");
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long for each way");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "The ways take turns");
    words->footer(
        "The reference is redis-benchmark when there are 64 threads or more, else the blocking "
        "way.\n"
        "\nExample:\n  holdfast bench raw --threads 64 --format json\n");
    all.push_back({words, [options] { return run_raw(*options); }});
}

}  // namespace holdfast::app

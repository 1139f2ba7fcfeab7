// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench locks: what a lock costs that nobody else wants.
//
// Each thread takes and gives back a name of its own by the public API, with fence and keeper. The
// reference takes turns with it, a round each, because a machine's mood changes from second to
// second; the ratio is the median of the rounds' own ratios.
//
// Only every 16th pair is timed: on the embedded engine the clock reads would be seen in the rate.
#include "bench/bench.hpp"
#include "bench/bench_engine.hpp"
#include "bench/figure.hpp"
#include "bench/progress.hpp"
#include "option_types.hpp"
#include "raw_pairs.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/redis.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace holdfast::app {
namespace {

constexpr int timed_each = 16;

struct locks_options {
    std::string engine = "memory:";
    std::string format = "table";
    int threads = 1;
    int seconds = 5;
    int rounds = 5;
};

struct worker_log {
    std::uint64_t pairs = 0;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::optional<error> failure;
};

float microseconds(duration d) {
    return static_cast<float>(d.count()) / 1000.0F;
}

result<void> timed_pair(holdfast::mutex& name, worker_log& log) {
    clock& time = system_clock();
    const time_point asked = time.now();
    auto held = name.acquire();
    const time_point got = time.now();
    if (!held) return std::unexpected(std::move(held.error()));
    auto given_back = std::move(*held).release();
    log.acquire_us.push_back(microseconds(got - asked));
    log.release_us.push_back(microseconds(time.now() - got));
    return given_back;
}

result<void> pair(holdfast::mutex& name) {
    auto held = name.acquire();
    if (!held) return std::unexpected(std::move(held.error()));
    return std::move(*held).release();
}

void work(client& on, int id, worker_log& log, const std::atomic<bool>& stop) {
    holdfast::mutex name(on, fmt::format("bench/{}", id));
    while (!stop.load(std::memory_order_relaxed)) {
        auto done = timed_pair(name, log);
        for (int i = 1; i < timed_each && done; ++i) done = pair(name);
        if (!done) {
            log.failure = std::move(done.error());
            return;
        }
        log.pairs += timed_each;
    }
}

/// What all rounds together saw.
struct measured {
    std::vector<double> rates;
    std::vector<double> references;
    std::vector<double> ratios;
    std::vector<double> client_cpu;
    std::vector<double> server_cpu;
    std::vector<double> plain_cpu;
    std::vector<double> commands;
    std::vector<worker_log> workers;
    std::string reference_name;
};

class locks_bench {
public:
    locks_bench(const locks_options& options, const bench_engine& engine, client& on)
        : options_(options), engine_(engine), on_(on) {
        seen_.workers.resize(static_cast<std::size_t>(options.threads));
    }

    result<figure> run();

private:
    result<double> our_round();
    result<double> reference_round();
    result<double> blocking_round();
    result<double> pipelined_round();
    [[nodiscard]] std::chrono::milliseconds slice() const {
        return std::chrono::milliseconds(1000 * options_.seconds / options_.rounds);
    }
    [[nodiscard]] figure summary();

    const locks_options& options_;
    const bench_engine& engine_;
    client& on_;
    measured seen_;
};

result<double> locks_bench::our_round() {
    const auto before = engine_.account();
    const auto sent = commands_sent(on_);
    const double cpu = own_cpu_seconds();
    std::atomic<bool> stop = false;
    std::uint64_t pairs = 0;
    for (const worker_log& log : seen_.workers) pairs -= log.pairs;
    const time_point start = system_clock().now();
    {
        std::vector<std::jthread> threads;
        for (int id = 0; id < options_.threads; ++id) {
            worker_log& log = seen_.workers[static_cast<std::size_t>(id)];
            threads.emplace_back([this, id, &log, &stop] { work(on_, id, log, stop); });
        }
        std::this_thread::sleep_for(slice());
        stop = true;
    }
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    const double used = own_cpu_seconds() - cpu;
    for (const worker_log& log : seen_.workers) {
        pairs += log.pairs;
        if (log.failure) return std::unexpected(*log.failure);
    }
    const auto count = static_cast<double>(pairs);
    seen_.client_cpu.push_back(used * 1e6 / count);
    if (const auto after = engine_.account(); after && before) {
        seen_.server_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 / count);
    }
    if (sent) {
        seen_.commands.push_back(static_cast<double>(*commands_sent(on_) - *sent) / count);
    }
    return count / seconds;
}

// A bare connection for each thread, as one would write it by hand.
result<double> locks_bench::blocking_round() {
    seen_.reference_name = fmt::format("blocking hiredis, {} connection{}, unfenced",
                                       options_.threads, options_.threads == 1 ? "" : "s");
    const auto before = engine_.account();
    const time_point start = system_clock().now();
    const auto r = bench::pairs_by_blocking_pool(engine_.reference.host, engine_.reference.port,
                                                 {.workers = options_.threads, .length = slice()});
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    if (r.failures > 0 || r.pairs_per_second <= 0) {
        return fail(errc::unavailable, "the reference's connection failed");
    }
    if (const auto after = engine_.account(); after && before) {
        seen_.plain_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 /
                                  (r.pairs_per_second * seconds));
    }
    return r.pairs_per_second;
}

// What the server can do at most, by redis-benchmark; and what a plain pair costs it when it comes
// by the same client and as many threads.
result<double> locks_bench::pipelined_round() {
    seen_.reference_name = "redis-benchmark -c 64 -P 16, unfenced";
    auto raw =
        open_redis(fmt::format("redis://{}:{}", engine_.reference.host, engine_.reference.port));
    if (!raw) return std::unexpected(std::move(raw.error()));
    const auto before = engine_.account();
    const time_point start = system_clock().now();
    const auto r = bench::pairs_by_threads(**raw, {.workers = options_.threads, .length = slice()});
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    if (r.failures > 0) return fail(errc::unavailable, r.first_failure);
    if (const auto after = engine_.account(); after && before) {
        seen_.plain_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 /
                                  (r.pairs_per_second * seconds));
    }
    return bench::benchmark_pair_limit(engine_.reference.host, engine_.reference.port, 64, 16);
}

result<double> locks_bench::reference_round() {
    constexpr int enough_to_fill_a_pipeline = 64;
    const bool pipelined = !engine_.in_process && options_.threads >= enough_to_fill_a_pipeline;
    return pipelined ? pipelined_round() : blocking_round();
}

result<figure> locks_bench::run() {
    progress shown("bench locks", 2 * options_.rounds);
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step("Holdfast");
        const auto ours = our_round();
        if (!ours) return std::unexpected(ours.error());
        shown.step("reference");
        const auto reference = reference_round();
        if (!reference) return std::unexpected(reference.error());
        seen_.rates.push_back(*ours);
        seen_.references.push_back(*reference);
        seen_.ratios.push_back(*ours / *reference);
    }
    return summary();
}

figure locks_bench::summary() {
    const auto known = [](const std::vector<double>& values) {
        return values.empty() ? std::nullopt : std::optional(median(values));
    };
    std::vector<float> acquire;
    std::vector<float> release;
    extent each{.min = seen_.workers.front().pairs, .max = 0};
    for (const worker_log& log : seen_.workers) {
        acquire.insert(acquire.end(), log.acquire_us.begin(), log.acquire_us.end());
        release.insert(release.end(), log.release_us.begin(), log.release_us.end());
        each = {std::min(each.min, log.pairs), std::max(each.max, log.pairs)};
    }
    return {.bench = "locks",
            .engine = engine_.label,
            .workers = options_.threads,
            .seconds = static_cast<double>(options_.seconds),
            .per_second = median(seen_.rates),
            .reference = reference_rate{seen_.reference_name, median(seen_.references),
                                        known(seen_.plain_cpu)},
            .ratio = median(seen_.ratios),
            .ratio_rounds = spread_of(seen_.ratios),
            .client_cpu_us = median(seen_.client_cpu),
            .server_cpu_us = known(seen_.server_cpu),
            .acquire_us = percentiles_of(acquire),
            .release_us = percentiles_of(release),
            .per_worker = each,
            .commands_per_op = known(seen_.commands)};
}

exit_code run_locks(const locks_options& options) {
    const auto engine = bench_engine::make(options.engine);
    if (!engine) return cannot_measure(engine.error());
    auto on = open(engine->url);
    if (!on) return cannot_measure(on.error());
    const auto found = locks_bench(options, *engine, *on).run();
    if (!found) return cannot_measure(found.error());
    report({*found}, options.format);
    return exit_code::success;
}

}  // namespace

void add_bench_locks(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<locks_options>();
    CLI::App* words =
        to.add_subcommand("locks", "Acquire and release names that nobody else wants");
    add_bench_options(*words, options->engine, options->format);
    add_whole(*words, "--threads", options->threads, {1, 1024}, "Threads, each with its own name");
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long, the reference apart");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "In turns with the reference");
    words->footer(
        "The reference is one SET NX PX and one compare-and-delete script, unfenced: by a "
        "blocking\n"
        "hiredis connection for each thread, or by redis-benchmark when 64 threads or more measure "
        "a\n"
        "Redis. For memory: it runs on a redis-server that is started and ended here.\n");
    all.push_back({words, [options] { return run_locks(*options); }});
}

}  // namespace holdfast::app

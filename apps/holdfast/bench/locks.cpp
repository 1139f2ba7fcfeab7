// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench locks: what a lock costs that nobody else wants.
//
// Each worker takes and gives back a name of its own by the public API, with fence and keeper. The
// reference takes turns with it, a round each, because a machine's mood changes from second to
// second; the ratio is the median of the rounds' own ratios.
#include "bench/bench.hpp"
#include "bench/bench_engine.hpp"
#include "bench/figure.hpp"
#include "bench/lock_crew.hpp"
#include "bench/progress.hpp"
#include "option_types.hpp"
#include "raw_pairs.hpp"

#include <holdfast/redis.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

namespace holdfast::app {
namespace {

struct locks_options {
    bench_options common{.engine = "memory:"};
    std::string kind = "mutex";
    int threads = 1;
    int processes = 0;
    int tasks = 0;
    int rate = 0;
    int seconds = 5;
    int rounds = 5;

    [[nodiscard]] int count() const {
        return processes > 0 ? processes : tasks > 0 ? tasks : threads;
    }
    [[nodiscard]] crew_options crew() const {
        using kind_of = crew_options::kind;
        const auto of = processes > 0 ? kind_of::processes
                        : tasks > 0   ? kind_of::tasks
                                      : kind_of::threads;
        return {.of = of,
                .workers = count(),
                .rate = rate,
                .length = std::chrono::milliseconds(1000 * seconds / rounds)};
    }
};

/// What all rounds together saw.
struct measured {
    std::vector<double> rates;
    std::vector<double> references;
    std::vector<double> ratios;
    std::vector<double> client_cpu;
    std::vector<double> server_cpu;
    std::vector<double> plain_cpu;
    std::vector<double> commands;
    std::vector<std::uint64_t> per_worker;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::string reference_name;
};

class locks_bench {
public:
    locks_bench(const locks_options& options, const bench_engine& engine)
        : options_(options), engine_(engine) {}

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
    measured seen_;
};

result<double> locks_bench::our_round() {
    const auto before = engine_.account();
    auto seen = run_lock_crew(engine_.url, options_.kind, options_.crew());
    if (!seen) return std::unexpected(std::move(seen.error()));
    const auto count = static_cast<double>(seen->pairs);
    if (count == 0) return fail(errc::unavailable, "no pair was done in a whole round");
    seen_.client_cpu.push_back(seen->cpu_seconds * 1e6 / count);
    if (const auto after = engine_.account(); after && before) {
        seen_.server_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 / count);
    }
    if (seen->commands) seen_.commands.push_back(static_cast<double>(*seen->commands) / count);
    seen_.per_worker.resize(seen->per_worker.size());
    std::ranges::transform(seen_.per_worker, seen->per_worker, seen_.per_worker.begin(),
                           std::plus{});
    seen_.acquire_us.insert(seen_.acquire_us.end(), seen->acquire_us.begin(),
                            seen->acquire_us.end());
    seen_.release_us.insert(seen_.release_us.end(), seen->release_us.begin(),
                            seen->release_us.end());
    return count / seen->seconds;
}

// A bare connection for each thread, as one would write it by hand.
result<double> locks_bench::blocking_round() {
    seen_.reference_name = fmt::format("blocking hiredis, {} connection{}, unfenced",
                                       options_.count(), options_.count() == 1 ? "" : "s");
    const auto before = engine_.account();
    const time_point start = system_clock().now();
    const auto r = bench::pairs_by_blocking_pool(engine_.reference.host, engine_.reference.port,
                                                 {.workers = options_.count(), .length = slice()});
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
    const auto r = bench::pairs_by_threads(**raw, {.workers = options_.count(), .length = slice()});
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
    const bool pipelined = !engine_.in_process && options_.count() >= enough_to_fill_a_pipeline;
    return pipelined ? pipelined_round() : blocking_round();
}

result<figure> locks_bench::run() {
    progress shown("bench locks", (options_.rate > 0 ? 1 : 2) * options_.rounds);
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step("Holdfast");
        const auto ours = our_round();
        if (!ours) return std::unexpected(ours.error());
        if (options_.rate > 0) {
            seen_.rates.push_back(*ours);
            continue;
        }
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
    const auto [least, most] = std::ranges::minmax(seen_.per_worker);
    figure out{.bench = options_.kind == "mutex" ? "locks" : "locks " + options_.kind,
               .engine = engine_.label,
               .workers = options_.count(),
               .seconds = static_cast<double>(options_.seconds),
               .cpus = engine_.cpus,
               .per_second = median(seen_.rates),
               .client_cpu_us = median(seen_.client_cpu),
               .server_cpu_us = known(seen_.server_cpu),
               .acquire_us = percentiles_of(seen_.acquire_us),
               .release_us = percentiles_of(seen_.release_us),
               .per_worker = extent{least, most},
               .commands_per_op = known(seen_.commands)};
    if (seen_.ratios.empty()) return out;
    out.reference =
        reference_rate{seen_.reference_name, median(seen_.references), known(seen_.plain_cpu)};
    out.ratio = median(seen_.ratios);
    out.ratio_rounds = spread_of(seen_.ratios);
    return out;
}

exit_code run_locks(const locks_options& options) {
    const auto engine = bench_engine::make(options.common);
    if (!engine) return cannot_measure(engine.error());
    const auto found = locks_bench(options, *engine).run();
    if (!found) return cannot_measure(found.error());
    return report({*found}, options.common);
}

}  // namespace

void add_bench_locks(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<locks_options>();
    CLI::App* words =
        to.add_subcommand("locks", "Acquire and release names that nobody else wants");
    add_bench_options(*words, options->common);
    add_choice(*words, "--kind", options->kind, lock_kinds(), "What is taken and given back");
    auto* threads = add_whole(*words, "--threads", options->threads, {1, 1024},
                              "Threads, each with its own name");
    auto* processes = add_whole(*words, "--processes", options->processes, {1, 1000},
                                "Processes with a client each, instead of threads");
    processes->default_str("")->excludes(threads);
    auto* tasks = add_whole(*words, "--tasks", options->tasks, {1, 100'000},
                            "Coroutines on one thread, instead of threads");
    tasks->default_str("")->excludes(threads)->excludes(processes);
    add_whole(*words, "--rate", options->rate, {1, 10'000'000},
              "Pairs a second, not as fast as they can; no reference")
        ->default_str("");
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

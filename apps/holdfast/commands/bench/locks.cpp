// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench locks: what a lock costs that nobody else wants.
//
// Each worker takes and gives back a name of its own by the public API, with fence and keeper. The
// reference takes turns with it, a round each, because a machine's mood changes from second to
// second; the ratio is the median of the rounds' own ratios.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/figure.hpp"
#include "commands/bench/lock_workers.hpp"
#include "commands/bench/locks_reference.hpp"
#include "commands/bench/progress.hpp"
#include "option_types.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace holdfast::app {
namespace {

struct locks_options {
    bench_options common{.engine = "memory:", .engines = every_engine};
    std::string kind = "mutex";
    int threads = 1;
    int processes = 0;
    int tasks = 0;
    int names = 1;
    int hung = 0;
    int rate = 0;
    int seconds = 5;
    int rounds = 5;
};

lock_worker_options worker_group_of(const locks_options& options, const bench_engine& engine) {
    using kind_of = worker_setup::kind;
    const int workers = options.processes > 0 ? options.processes
                        : options.tasks > 0   ? options.tasks
                                              : options.threads;
    worker_setup worker_group{
        .of = options.processes > 0 ? kind_of::processes
              : options.tasks > 0   ? kind_of::tasks
                                    : kind_of::threads,
        .workers = workers,
        .rate = options.rate,
        .length = std::chrono::milliseconds(1000 * options.seconds / options.rounds),
        .timed_each = engine.of == bench_engine::kind::in_process ? 16 : 1};
    if (options.hung > 0) {
        worker_group.when_ready = [&engine, count = options.hung] { engine.hang(count); };
    }
    return {
        .worker_group = std::move(worker_group), .names = options.names, .lock_kind = options.kind};
}

/// What all rounds together saw.
struct measured_pairs {
    std::vector<double> rates;
    std::vector<double> ratios;
    std::vector<double> client_cpu;
    std::vector<double> server_cpu;
    std::vector<double> commands;
    std::vector<std::uint64_t> per_worker;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::vector<float> pair_us;
    double longest_acquire_us = 0;

    // The reference's.
    std::vector<double> references;
    std::vector<double> reference_cpu;
    std::vector<double> reference_acquire_us;
    std::vector<double> reference_pair_us;
    std::vector<double> by_hand_pair_us;
};

void append(std::vector<float>& to, const std::vector<float>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

class locks_bench {
public:
    locks_bench(const locks_options& options, const bench_engine& engine)
        : options_(options),
          engine_(engine),
          worker_group_(worker_group_of(options, engine)),
          reference_(engine, worker_group_) {}

    result<figure> run();

private:
    result<double> our_round();
    result<double> reference_round();
    [[nodiscard]] figure summary();
    void compare(figure& out) const;

    const locks_options& options_;
    const bench_engine& engine_;
    const lock_worker_options worker_group_;
    const locks_reference reference_;
    measured_pairs seen_;
};

result<double> locks_bench::our_round() {
    const auto before = engine_.account();
    auto seen = run_lock_workers(engine_.url, worker_group_);
    if (!seen) return std::unexpected(std::move(seen.error()));
    const auto count = static_cast<double>(seen->done);
    if (count == 0) return fail(errc::unavailable, "no pair was done in a whole round");
    seen_.client_cpu.push_back(seen->cpu_seconds * 1e6 / count);
    const auto after = engine_.account();
    if (after && before) {
        seen_.server_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 / count);
    }
    if (seen->commands) {
        seen_.commands.push_back(static_cast<double>(*seen->commands) / count);
    } else if (after && before) {
        seen_.commands.push_back((after->commands - before->commands) / count);
    }
    seen_.per_worker.resize(seen->per_worker.size());
    std::ranges::transform(seen_.per_worker, seen->per_worker, seen_.per_worker.begin(),
                           std::plus{});
    append(seen_.acquire_us, seen->acquire_us);
    append(seen_.release_us, seen->release_us);
    append(seen_.pair_us, seen->pair_us());
    seen_.longest_acquire_us = std::max(seen_.longest_acquire_us, seen->longest_acquire_us);
    return count / seen->seconds;
}

result<double> locks_bench::reference_round() {
    const auto seen = reference_.run();
    if (!seen) return std::unexpected(seen.error());
    seen_.references.push_back(seen->per_second);
    if (seen->server_cpu_us) seen_.reference_cpu.push_back(*seen->server_cpu_us);
    if (seen->acquire_us) seen_.reference_acquire_us.push_back(*seen->acquire_us);
    if (seen->pair_us) seen_.reference_pair_us.push_back(*seen->pair_us);
    if (seen->by_hand_pair_us) seen_.by_hand_pair_us.push_back(*seen->by_hand_pair_us);
    return seen->per_second;
}

result<figure> locks_bench::run() {
    progress shown("bench locks", (options_.rate > 0 ? 1 : 2) * options_.rounds);
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step("Holdfast");
        const auto ours = our_round();
        if (!ours) return std::unexpected(ours.error());
        seen_.rates.push_back(*ours);
        if (options_.rate > 0) continue;
        shown.step("reference");
        const auto reference = reference_round();
        if (!reference) return std::unexpected(reference.error());
        seen_.ratios.push_back(*ours / *reference);
    }
    return summary();
}

figure locks_bench::summary() {
    const auto [least, most] = std::ranges::minmax(seen_.per_worker);
    figure out{.bench = options_.kind == "mutex" ? "locks" : "locks " + options_.kind,
               .engine = engine_.label,
               .workers = worker_group_.worker_group.workers,
               .seconds = static_cast<double>(options_.seconds),
               .cpus = engine_.cpus,
               .per_second = median(seen_.rates),
               .client_cpu_us = median(seen_.client_cpu),
               .server_cpu_us = median_if_any(seen_.server_cpu),
               .acquire_us = percentiles_of(seen_.acquire_us),
               .release_us = percentiles_of(seen_.release_us),
               .per_worker = extent{least, most},
               .commands_per_op = median_if_any(seen_.commands)};
    if (options_.names > 1) out.bench += fmt::format(", {} names", options_.names);
    if (options_.hung > 0) {
        out.bench += fmt::format(", {} hung", options_.hung);
        out.acquire_us->max = seen_.longest_acquire_us;
    }
    if (!seen_.ratios.empty()) compare(out);
    return out;
}

void locks_bench::compare(figure& out) const {
    out.reference = reference_rate{.name = reference_.name(),
                                   .per_second = median(seen_.references),
                                   .server_cpu_us = median_if_any(seen_.reference_cpu),
                                   .acquire_us = median_if_any(seen_.reference_acquire_us),
                                   .pair_us = median_if_any(seen_.reference_pair_us),
                                   .by_hand_pair_us = median_if_any(seen_.by_hand_pair_us)};
    out.ratio = median(seen_.ratios);
    out.ratio_rounds = spread_of(seen_.ratios);
    if (!out.reference->pair_us) return;
    std::vector<float> pairs = seen_.pair_us;
    out.pair_us = percentiles_of(pairs);
    out.latency_ratio = latency_ratios{.pair = out.pair_us->p50 / *out.reference->pair_us};
    if (out.reference->acquire_us) {
        out.latency_ratio->acquire = out.acquire_us->p50 / *out.reference->acquire_us;
    }
    if (out.reference->by_hand_pair_us) {
        out.latency_ratio->pair_by_hand = out.pair_us->p50 / *out.reference->by_hand_pair_us;
    }
}

std::optional<error> unfit(const locks_options& options, const bench_engine& engine) {
    const auto wrong = [](std::string text) {
        return error{errc::invalid_argument, std::move(text)};
    };
    if (options.hung > 0 && engine.of != bench_engine::kind::quorum) {
        return wrong("--hung: servers are stopped only in a quorum; take --engine redlock:");
    }
    if (options.names > 1 && options.kind != "mutex") {
        return wrong("--names: several names together are taken exclusively; leave --kind out");
    }
    if (options.names > 1 && options.tasks > 0) {
        return wrong("--names: acquire_all has no call for coroutines; take --threads");
    }
    if (options.processes > 0 && engine.of == bench_engine::kind::in_process) {
        return wrong("--processes: memory: is in one process; measure redis: instead");
    }
    return std::nullopt;
}

exit_code run_locks(const locks_options& options) {
    auto engine = bench_engine::make(options.common, bench_engine::breadth::all);
    if (!engine) return cannot_measure(engine.error());
    if (const auto why = unfit(options, *engine)) return cannot_measure(*why);
    if (options.hung > 0) {
        engine->servers.resize(engine->servers.size() - static_cast<std::size_t>(options.hung));
    }
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
    add_choice(*words, "--kind", options->kind, lock_kinds(), "What to acquire and release");
    add_workers(
        *words,
        {.threads = &options->threads, .processes = &options->processes, .tasks = &options->tasks},
        "Threads, each with its own name");
    add_whole(*words, "--names", options->names, {1, 1000}, "Names at once, by acquire_all");
    add_whole(*words, "--hung", options->hung, {1, 2},
              "Servers of redlock: to stop when all are ready")
        ->default_str("");
    add_fixed_rate(*words, options->rate);
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long, without the reference");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "Rounds, with the reference in turn");
    for (const char* name : {"--hold", "--pause"}) {
        add_refusal(*words, name,
                    "nobody waits for these names: --rate paces the pairs, bench handoff has both");
    }
    words->footer(
        std::string("The reference is the same by hand; for redlock: one Redis, for names one.\n"
                    "Example, with an option of its engine:\n"
                    "  holdfast bench locks --engine redlock:?fence=off --threads 8\n") +
        bench_exit_codes);
    add_measurement(all, words, options->common, [options] { return run_locks(*options); });
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench handoff: how fast one name goes from hand to hand, or how long a writer waits for
// it among readers.
//
// The reference is what one connection can do at all: pairs of SET NX PX and compare-and-delete,
// one after the other, without anybody to wait for; for a file, pairs of statements by hand in
// another file. Locks of sessions (mode=session) are waited for in the server: there the reference
// is the same contest by hand, on as many connections. It takes turns with the contest.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/contest.hpp"
#include "commands/bench/figure.hpp"
#include "commands/bench/file_by_hand.hpp"
#include "commands/bench/lock_workers.hpp"
#include "commands/bench/progress.hpp"
#include "commands/bench/raw_pairs.hpp"
#include "commands/bench/stolen_time.hpp"
#include "option_types.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

namespace holdfast::app {
namespace {

struct handoff_options {
    bench_options common{.engine = "memory:", .engines = every_engine};
    std::string kind = "mutex";
    int workers = 8;
    int processes = 0;
    int tasks = 0;
    int readers = 0;
    int local_passes = 0;
    duration hold{};
    duration pause{};
    int seconds = 5;
    int rounds = 5;

    [[nodiscard]] std::chrono::milliseconds round() const {
        return std::chrono::milliseconds(1000 * seconds / rounds);
    }
    /// One writer and its readers, or all for themselves.
    [[nodiscard]] int count() const {
        if (readers > 0) return 1 + readers;
        return processes > 0 ? processes : tasks > 0 ? tasks : workers;
    }
};

/// One round, or several together.
struct measured {
    double stolen_seconds = 0;
    double seconds = 0;
    int rounds_again = 0;
    std::vector<double> rates;
    std::vector<double> references;
    std::vector<double> round_trips_us;
    std::vector<double> ratios;
    std::vector<double> client_cpu;
    std::vector<double> server_cpu;
    std::vector<double> commands;
    std::vector<std::uint64_t> acquired;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::vector<float> handoff_us;
    std::vector<float> wait_us;
    double longest_wait_us = 0;
    std::vector<double> reader_us;
};

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

void add(measured& to, const measured& more) {
    to.stolen_seconds += more.stolen_seconds;
    to.seconds += more.seconds;
    for (const auto of : {&measured::rates, &measured::references, &measured::round_trips_us,
                          &measured::ratios, &measured::client_cpu, &measured::server_cpu,
                          &measured::commands, &measured::reader_us}) {
        append(to.*of, more.*of);
    }
    for (const auto of : {&measured::acquire_us, &measured::release_us, &measured::handoff_us,
                          &measured::wait_us}) {
        append(to.*of, more.*of);
    }
    to.acquired.resize(more.acquired.size());
    std::ranges::transform(to.acquired, more.acquired, to.acquired.begin(), std::plus{});
    to.longest_wait_us = std::max(to.longest_wait_us, more.longest_wait_us);
}

result<double> contest_round(const handoff_options& options, const bench_engine& engine,
                             measured& seen) {
    const contest_options wanted{.workers = options.count(),
                                 .processes = options.processes,
                                 .tasks = options.tasks > 0,
                                 .permit = options.kind == "semaphore",
                                 .readers = options.readers > 0,
                                 .hold = options.hold,
                                 .pause = options.pause,
                                 .local_passes = static_cast<std::uint32_t>(options.local_passes),
                                 .length = options.round()};
    const auto before = engine.account();
    const double cpu = own_cpu_seconds() + children_cpu_seconds();
    const auto found = run_contest(engine.url, wanted);
    const double used = own_cpu_seconds() + children_cpu_seconds() - cpu;
    if (!found) return std::unexpected(found.error());
    const auto total = static_cast<double>(
        std::accumulate(found->acquired.begin(), found->acquired.end(), std::uint64_t{0}));
    if (const auto after = engine.account(); after && before && total > 0) {
        seen.server_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 / total);
    }
    if (total > 0) seen.client_cpu.push_back(used * 1e6 / total);
    if (found->commands > 0) {
        seen.commands.push_back(static_cast<double>(found->commands) / total);
    }
    seen.acquired = found->acquired;
    seen.acquire_us = found->acquire_us;
    seen.release_us = found->release_us;
    seen.handoff_us = found->handoff_us;
    seen.wait_us = found->wait_us;
    seen.longest_wait_us = found->longest_wait_us;
    seen.reader_us.push_back(found->mean_reader_us);
    return total / found->seconds;
}

bool is_contended_by_hand(const bench_engine& engine) {
    return engine.of == bench_engine::kind::database && uses_sessions(engine.url);
}

result<bench::pairs_result> reference_round(const handoff_options& options,
                                            const bench_engine& engine) {
    using kind = bench_engine::kind;
    const bool contended = is_contended_by_hand(engine);
    const bench::pairs_options alone{.workers = contended ? options.count() : 1,
                                     .length = options.round(),
                                     .contended = contended};
    auto r =
        engine.of == kind::file ? pairs_by_hand_in_a_file(engine, alone)
        : engine.of == kind::database
            ? pairs_by_hand_in_a_database(engine, alone)
            : bench::pairs_by_blocking_pool(engine.reference.host, engine.reference.port, alone);
    if (!r) return r;
    if (r->failures > 0 || r->pairs_per_second <= 0) {
        return fail(errc::unavailable, "the reference failed: " + r->first_failure);
    }
    return r;
}

result<measured> measure_round(const handoff_options& options, const bench_engine& engine,
                               progress& shown) {
    measured seen;
    const time_point begun = system_clock().now();
    const double stolen = stolen_seconds();
    shown.step("Holdfast");
    const auto ours = contest_round(options, engine, seen);
    if (!ours) return std::unexpected(ours.error());
    shown.step("reference");
    const auto reference = reference_round(options, engine);
    if (!reference) return std::unexpected(reference.error());
    seen.rates.push_back(*ours);
    seen.references.push_back(reference->pairs_per_second);
    seen.round_trips_us.push_back(reference->p50_us / 2);
    seen.ratios.push_back(*ours / reference->pairs_per_second);
    seen.stolen_seconds = stolen_seconds() - stolen;
    seen.seconds = std::chrono::duration<double>(system_clock().now() - begun).count();
    return seen;
}

double stolen_cpus(const measured& seen) {
    return seen.seconds > 0 ? seen.stolen_seconds / seen.seconds : 0;
}

// Who waits for somebody else's processor again and again, as those in line do, is hit hardest when
// the host takes one away. So for each round in which it took more than a little one more is
// measured, at most as many as were asked for; those count in which it took least. Nothing else
// about a round decides whether it counts.
result<measured> measure(const handoff_options& options, const bench_engine& engine) {
    constexpr double little = 0.05;  // of a processor
    progress shown("bench handoff", 2 * options.rounds);
    std::vector<measured> rounds;
    int wanted = options.rounds;
    while (static_cast<int>(rounds.size()) < wanted) {
        auto round = measure_round(options, engine, shown);
        if (!round) return round;
        if (stolen_cpus(*round) > little && wanted < 2 * options.rounds) {
            ++wanted;
            shown.add(2);
        }
        rounds.push_back(*std::move(round));
    }
    std::ranges::stable_sort(rounds, {}, stolen_cpus);
    rounds.resize(static_cast<std::size_t>(options.rounds));
    measured all;
    for (const measured& one : rounds) add(all, one);
    all.rounds_again = wanted - options.rounds;
    return all;
}

std::string reference_name(const handoff_options& options, const bench_engine& engine) {
    using kind = bench_engine::kind;
    if (is_contended_by_hand(engine)) {
        return fmt::format("{} by hand, {} connections", database_reference(engine.url),
                           options.count());
    }
    return engine.of == kind::file || engine.of == kind::database
               ? "prepared statements by hand, nobody else"
               : "one blocking hiredis connection, nobody else";
}

figure figure_of(const handoff_options& options, const bench_engine& engine, measured& seen) {
    const auto [least, most] = std::ranges::minmax(seen.acquired);
    using kind = bench_engine::kind;
    const bool in_file = engine.of == kind::file;
    figure out{
        .bench = options.kind == "mutex" ? "handoff" : "handoff " + options.kind,
        .engine = engine.label,
        .workers = options.count(),
        .seconds = static_cast<double>(options.seconds),
        .cpus = engine.cpus,
        .per_second = median(seen.rates),
        .reference = reference_rate{reference_name(options, engine), median(seen.references)},
        .ratio = median(seen.ratios),
        .ratio_rounds = spread_of(seen.ratios),
        .disturbed = disturbance{stolen_cpus(seen), seen.rounds_again},
        .client_cpu_us = median_if_any(seen.client_cpu),
        .server_cpu_us = median_if_any(seen.server_cpu),
        .per_worker = extent{least, most},
        .commands_per_op = median_if_any(seen.commands)};
    if (!seen.acquire_us.empty()) {
        out.acquire_us = percentiles_of(seen.acquire_us);
        out.release_us = percentiles_of(seen.release_us);
    }
    const double trip = median(seen.round_trips_us);  // a file has none
    if (options.readers == 0) {
        if (seen.handoff_us.empty()) return out;  // nobody waited
        out.handoff_us = percentiles_of(seen.handoff_us);
        if (!in_file && !is_contended_by_hand(engine))
            out.handoff_round_trips = out.handoff_us->p50 / trip;
        return out;
    }
    out.bench = "handoff to a writer among readers";
    out.writer_wait_us = percentiles_of(seen.wait_us);
    out.writer_wait_us->max = seen.longest_wait_us;
    out.reader_hold_us = median(seen.reader_us);
    if (!in_file) out.writer_bound_us = 5 * *out.reader_hold_us + 3 * trip;
    return out;
}

std::optional<error> unfit(const handoff_options& options, const bench_engine& engine) {
    const auto wrong = [](std::string text) {
        return error{errc::invalid_argument, std::move(text)};
    };
    if (options.kind == "shared") {
        return wrong(
            "--kind shared: readers hold it together, and hand nothing off; use --readers N for "
            "a writer among them");
    }
    if (options.readers > 0 && options.kind != "mutex") {
        return wrong("--readers: a semaphore has none; leave --kind out");
    }
    if (engine.of == bench_engine::kind::in_process && options.processes > 0) {
        return wrong("--processes: memory: is in one process; measure redis: instead");
    }
    // Nobody is woken before it is over.
    if (options.hold >= options.round() || options.pause >= options.round()) {
        return wrong(fmt::format(
            "{} is too long: a round takes {}; raise --seconds, or use fewer "
            "--rounds",
            options.hold >= options.round() ? "--hold" : "--pause", show_span(options.round())));
    }
    return std::nullopt;
}

exit_code run_handoff(const handoff_options& options) {
    const auto engine = bench_engine::make(options.common, bench_engine::breadth::all);
    if (!engine) return cannot_measure(engine.error());
    if (const auto why = unfit(options, *engine)) return cannot_measure(*why);
    auto seen = measure(options, *engine);
    if (!seen) return cannot_measure(seen.error());
    return report({figure_of(options, *engine, *seen)}, options.common);
}

}  // namespace

void add_bench_handoff(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<handoff_options>();
    CLI::App* words = to.add_subcommand("handoff", "Handoffs of one name between many workers");
    add_bench_options(*words, options->common);
    add_choice(*words, "--kind", options->kind, lock_kinds(), "What to hand off");
    auto* threads = add_workers(
        *words,
        {.threads = &options->workers, .processes = &options->processes, .tasks = &options->tasks},
        "Threads that share a client");
    add_whole(*words, "--readers", options->readers, {1, 1000}, "One writer among N readers")
        ->default_str("")
        ->excludes(threads);
    add_whole(*words, "--local-passes", options->local_passes, {0, 100},
              "Local passes before others get it");
    add_span(*words, "--hold", options->hold, "How long each holds it");
    add_span(*words, "--pause", options->pause, "How long each pauses after it");
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long, without the reference");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "Rounds, with the reference in turn");
    add_refusal(*words, "--rate", "a release hands the name off; --hold and --pause pace it");
    words->footer(
        std::string("Example:\n"
                    "  holdfast bench handoff --engine redis: --processes 8 --readers 15\n") +
        bench_exit_codes);
    add_measurement(all, words, options->common, [options] { return run_handoff(*options); });
}

}  // namespace holdfast::app

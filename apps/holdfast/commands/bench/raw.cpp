// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench raw: the Redis client alone, without locks.
//
// Pairs of SET NX PX and compare-and-delete by several ways to the same server, in turns: threads
// that share one engine, coroutines that share it, and a blocking hiredis connection for each
// thread; or by processes with an engine each. At a fixed rate all of them do the same work, and
// what counts is the CPU time that it takes.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/figure.hpp"
#include "commands/bench/progress.hpp"
#include "commands/bench/raw_pairs.hpp"
#include "commands/bench/workers.hpp"
#include "option_types.hpp"

#include <holdfast/redis/redis.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

namespace holdfast::app {
namespace {

struct raw_options {
    bench_options common{.engine = "redis:", .engines = "redis: or redis://host:port"};
    int threads = 64;
    int processes = 0;
    int tasks = 0;
    int rate = 0;
    int seconds = 5;
    int rounds = 3;

    [[nodiscard]] int workers() const {
        return processes > 0 ? processes : tasks > 0 ? tasks : threads;
    }
    [[nodiscard]] bool pipelined() const {
        return workers() >= bench::workers_that_fill_a_pipeline;
    }
    [[nodiscard]] bool compares() const { return rate == 0; }
};

/// One way's figures of all rounds.
struct way_log {
    std::vector<double> rates;
    std::vector<double> ratios;
    std::vector<double> cpu;
    std::vector<double> server_cpu;
    std::vector<double> commands;
    std::vector<std::uint64_t> per_worker;
    std::vector<double> p50, p99;  // of pairs, and of their first and second commands
    std::vector<double> acquire_p50, acquire_p99;
    std::vector<double> release_p50, release_p99;

    void add(const bench::pairs_result& r) {
        rates.push_back(r.pairs_per_second);
        cpu.push_back(r.client_cpu_us);
        p50.push_back(r.p50_us);
        p99.push_back(r.p99_us);
        acquire_p50.push_back(r.acquire_us.p50);
        acquire_p99.push_back(r.acquire_us.p99);
        release_p50.push_back(r.release_us.p50);
        release_p99.push_back(r.release_us.p99);
        per_worker.resize(r.per_worker.size());
        std::ranges::transform(per_worker, r.per_worker, per_worker.begin(), std::plus{});
    }
};

double total(const bench::pairs_result& r) {
    double sum = 0;
    for (const std::uint64_t one : r.per_worker) sum += static_cast<double>(one);
    return sum;
}

/// A pair by the engine of a client: for processes.
class raw_operation final : public operation {
public:
    raw_operation(command_engine& on, int worker) : on_(on), words_(worker) {}
    result<void> take() override { return words_.take(on_); }
    result<void> release() override { return words_.release(on_); }

private:
    command_engine& on_;
    bench::pair_words words_;
};

class raw_bench {
public:
    raw_bench(const raw_options& options, const bench_engine& engine)
        : options_(options), engine_(engine) {
        using self = raw_bench;
        if (options.processes > 0) {
            ways_ = {{"processes", &self::by_processes, {}}};
        } else if (options.tasks > 0) {
            ways_ = {{"coroutines", &self::by_coroutines, {}}};
        } else {
            ways_ = {{"threads", &self::by_threads, {}}, {"coroutines", &self::by_coroutines, {}}};
        }
        const bool alone = options.processes > 0 || options.tasks > 0;
        if (!alone || (options.compares() && !options.pipelined())) {
            ways_.push_back({"blocking", &self::by_blocking, {}});
        }
    }

    result<std::vector<figure>> run() {
        const int steps =
            static_cast<int>(ways_.size()) + (options_.compares() && options_.pipelined() ? 1 : 0);
        progress shown("bench raw", steps * options_.rounds);
        for (int i = 0; i < options_.rounds; ++i) {
            if (auto done = round(shown); !done) return std::unexpected(std::move(done.error()));
        }
        std::vector<figure> found;
        for (const way& one : ways_) found.push_back(figure_of(one));
        return found;
    }

private:
    struct way {
        std::string name;
        result<bench::pairs_result> (raw_bench::*run)() const;
        way_log log;
    };

    [[nodiscard]] bench::pairs_options wanted() const {
        return {.workers = options_.workers(),
                .length = std::chrono::milliseconds(1000 * options_.seconds / options_.rounds),
                .rate = options_.rate};
    }
    template <class Pairs>
    result<bench::pairs_result> by_engine(const Pairs& pairs) const {
        auto redis = open_redis(engine_.url);
        if (!redis) return std::unexpected(std::move(redis.error()));
        bench::pairs_result r = pairs(**redis, wanted());
        r.commands = (*redis)->statistics().commands;
        return r;
    }
    [[nodiscard]] result<bench::pairs_result> by_threads() const {
        return by_engine(bench::pairs_by_threads);
    }
    [[nodiscard]] result<bench::pairs_result> by_coroutines() const {
        return by_engine(bench::pairs_by_coroutines);
    }
    [[nodiscard]] result<bench::pairs_result> by_blocking() const {
        return bench::pairs_by_blocking_pool(engine_.reference.host, engine_.reference.port,
                                             wanted());
    }
    [[nodiscard]] result<bench::pairs_result> by_processes() const;
    result<void> round(progress& shown);
    result<double> measure(way& one);
    [[nodiscard]] figure figure_of(const way& one) const;

    const raw_options& options_;
    const bench_engine& engine_;
    std::vector<way> ways_;
    std::vector<double> references_;
};

result<bench::pairs_result> raw_bench::by_processes() const {
    const auto asked = wanted();
    auto seen = run_workers(engine_.url,
                            {.of = worker_setup::kind::processes,
                             .workers = asked.workers,
                             .rate = asked.rate,
                             .length = asked.length},
                            [](client& on) -> operation_maker {
                                return [&on](int worker) -> std::unique_ptr<operation> {
                                    return std::make_unique<raw_operation>(*on.commands(), worker);
                                };
                            });
    if (!seen) return std::unexpected(std::move(seen.error()));
    bench::pairs_result out{.way = "processes", .workers = asked.workers};
    if (seen->done == 0) return out;
    std::vector<float> pairs = seen->pair_us();
    const auto points = [](std::vector<float>& values) -> bench::two_points {
        const percentiles p = percentiles_of(values);
        return {p.p50, p.p99};
    };
    const bench::two_points pair = points(pairs);
    const auto count = static_cast<double>(seen->done);
    out.pairs_per_second = count / seen->seconds;
    out.p50_us = pair.p50;
    out.p99_us = pair.p99;
    out.acquire_us = points(seen->acquire_us);
    out.release_us = points(seen->release_us);
    out.per_worker = std::move(seen->per_worker);
    out.commands = seen->commands.value_or(0);
    out.client_cpu_us = seen->cpu_seconds * 1e6 / count;
    return out;
}

result<double> raw_bench::measure(way& one) {
    const auto before = engine_.account();
    const auto r = (this->*one.run)();
    if (!r) return std::unexpected(r.error());
    if (r->failures > 0 || r->pairs_per_second <= 0) {
        return fail(errc::unavailable, fmt::format("{}: {} pairs failed; the first: {}", one.name,
                                                   r->failures, r->first_failure));
    }
    const double pairs = total(*r);
    if (const auto after = engine_.account(); after && before) {
        one.log.server_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 / pairs);
    }
    if (r->commands > 0) one.log.commands.push_back(static_cast<double>(r->commands) / pairs);
    one.log.add(*r);
    return r->pairs_per_second;
}

result<void> raw_bench::round(progress& shown) {
    double last = 0;
    for (way& one : ways_) {
        shown.step(one.name);
        const auto rate = measure(one);
        if (!rate) return std::unexpected(rate.error());
        last = *rate;
    }
    if (!options_.compares()) return {};
    double reference = last;  // the blocking way's
    if (options_.pipelined()) {
        shown.step("reference");
        const auto limit =
            bench::benchmark_pair_limit(engine_.reference.host, engine_.reference.port);
        if (!limit) return std::unexpected(limit.error());
        reference = *limit;
    }
    references_.push_back(reference);
    for (way& one : ways_) one.log.ratios.push_back(one.log.rates.back() / reference);
    return {};
}

figure raw_bench::figure_of(const way& one) const {
    const way_log& log = one.log;
    const auto [least, most] = std::ranges::minmax(log.per_worker);
    figure out{.bench = "raw " + one.name,
               .engine = engine_.label,
               .workers = options_.workers(),
               .seconds = static_cast<double>(options_.seconds),
               .cpus = engine_.cpus,
               .per_second = median(log.rates),
               .client_cpu_us = median(log.cpu),
               .server_cpu_us = median_if_any(log.server_cpu),
               .acquire_us = percentiles{median(log.acquire_p50), median(log.acquire_p99)},
               .release_us = percentiles{median(log.release_p50), median(log.release_p99)},
               .pair_us = percentiles{median(log.p50), median(log.p99)},
               .per_worker = extent{least, most},
               .commands_per_op = median_if_any(log.commands)};
    if (references_.empty()) return out;
    out.reference = reference_rate{
        options_.pipelined() ? "redis-benchmark -c 64 -P 16" : "blocking hiredis connections",
        median(references_)};
    out.ratio = median(log.ratios);
    out.ratio_rounds = spread_of(log.ratios);
    return out;
}

exit_code run_raw(const raw_options& options) {
    const auto engine = bench_engine::make(options.common);
    if (!engine) return cannot_measure(engine.error());
    if (engine->of == bench_engine::kind::in_process) {
        return cannot_measure(
            {errc::invalid_argument, "--engine: bench raw measures the Redis client; take redis:"});
    }
    const auto found = raw_bench(options, *engine).run();
    if (!found) return cannot_measure(found.error());
    return report(*found, options.common);
}

}  // namespace

void add_bench_raw(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<raw_options>();
    CLI::App* words = to.add_subcommand("raw", "The Redis client alone: plain pairs of commands");
    add_bench_options(*words, options->common);
    add_workers(
        *words,
        {.threads = &options->threads, .processes = &options->processes, .tasks = &options->tasks},
        "Threads, and as many coroutines");
    add_fixed_rate(*words, options->rate);
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long for each");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "Alternating rounds");
    add_refusal(*words, "--kind", "bench raw sends plain commands, and takes no lock");
    for (const char* name : {"--hold", "--pause"}) {
        add_refusal(*words, name, "nobody waits for a key of another; --rate paces the pairs");
    }
    words->footer(
        std::string("The reference is redis-benchmark for 64 workers or more, else a blocking "
                    "hiredis connection for each. A pair is SET NX PX (acquire) and a "
                    "compare-and-delete (release).\n"
                    "Example:\n"
                    "  holdfast bench raw --threads 64 --format json\n") +
        bench_exit_codes);
    add_measurement(all, words, options->common, [options] { return run_raw(*options); });
}

}  // namespace holdfast::app

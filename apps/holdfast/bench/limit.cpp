// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench limit: what a decision costs, by each rule; by blocks of tokens; and when the
// answer is already known.
//
// For a rule, threads share one limiter and take from many keys in turn, always allowed. The
// reference is redis-benchmark with the same script, keys and arguments, in turns with it. What the
// server spends on each is its own account of CPU time. INCR by redis-benchmark, in the same run,
// says what the machine is worth.
#include "bench/bench.hpp"
#include "bench/bench_engine.hpp"
#include "bench/figure.hpp"
#include "bench/progress.hpp"
#include "bench/redis_benchmark.hpp"
#include "option_types.hpp"
#include "traffic/traffic_scripts.hpp"

#include <holdfast/holdfast.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <thread>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view prefix = "bench:limit:";

struct limit_options {
    bench_options common{.engine = "redis:"};
    std::string algorithm = "all";
    int threads = 64;
    int keys = 1000;
    int seconds = 6;
    int rounds = 3;
};

struct rule_bench {
    std::string name;
    limit_rule rule;
    const script* body;
    std::string words;  ///< As the limiter sends them for a key that it knows.
};

// So large that nothing is refused.
std::vector<rule_bench> rule_benches() {
    const auto& scripts = detail::traffic_scripts::all();
    return {
        {"gcra", token_bucket{.capacity = 1'000'000, .refill = 1'000'000}, &scripts.take_gcra,
         "1 1000000"},
        {"fixed", fixed_window{.limit = 1'000'000'000, .window = 60s}, &scripts.take_fixed_window,
         "1 1000000000 60000 told"},
        {"counter", sliding_counter{.limit = 1'000'000'000, .window = 60s},
         &scripts.take_sliding_counter, "1 1000000000 6000000 10"},
        {"log", sliding_log{.limit = 100'000, .window = 100ms}, &scripts.take_sliding_log,
         "1 100000 100000"},
    };
}

/// What some rounds of one thing saw.
struct log_of_rounds {
    std::vector<double> rates;
    std::vector<double> ratios;
    std::vector<double> references;
    std::vector<double> client_cpu;
    std::vector<double> server_cpu;
    std::vector<double> reference_cpu;
};

/// A round of threads that all call `decide(thread, i)`.
template <class Decide>
result<void> run_round(const bench_engine& engine, int threads, duration length,
                       const Decide& decide, log_of_rounds& seen) {
    const auto before = engine.account();
    const double cpu = own_cpu_seconds();
    std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> done = 0;
    std::atomic<bool> failed = false;
    const time_point start = system_clock().now();
    {
        std::vector<std::jthread> workers;
        for (int id = 0; id < threads; ++id) {
            workers.emplace_back([&, id] {
                std::uint64_t mine = 0;
                while (!stop.load(std::memory_order_relaxed)) {
                    if (!decide(id, mine)) failed = true;
                    ++mine;
                }
                done += mine;
            });
        }
        std::this_thread::sleep_for(length);
        stop = true;
    }
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    if (failed) return fail(errc::unavailable, "a decision was not what it had to be");
    const auto count = static_cast<double>(done.load());
    seen.rates.push_back(count / seconds);
    seen.client_cpu.push_back((own_cpu_seconds() - cpu) * 1e6 / count);
    if (const auto after = engine.account(); after && before) {
        seen.server_cpu.push_back((after->cpu_seconds - before->cpu_seconds) * 1e6 / count);
    }
    return {};
}

class limit_bench {
public:
    limit_bench(const limit_options& options, const bench_engine& engine, client& on)
        : options_(options), engine_(engine), on_(on) {
        for (int i = 0; i < options.keys; ++i) keys_.push_back(fmt::format("{:012}", i));
    }

    result<std::vector<figure>> run() {
        auto rules = rule_benches();
        std::erase_if(rules, [&](const rule_bench& one) {
            return options_.algorithm != "all" && options_.algorithm != one.name;
        });
        const int each = options_.rounds;
        progress shown("bench limit", (2 * static_cast<int>(rules.size()) + 4) * each);
        if (auto done = load(rules); !done) return std::unexpected(done.error());
        std::vector<figure> found;
        for (const auto& make : {&limit_bench::increments, &limit_bench::refusals}) {
            auto one = (this->*make)(shown);
            if (!one) return std::unexpected(std::move(one.error()));
            found.push_back(std::move(*one));
        }
        for (const rule_bench& rule : rules) {
            auto one = of_rule(rule, shown);
            if (!one) return std::unexpected(std::move(one.error()));
            found.push_back(std::move(*one));
        }
        if (rules.front().name != "gcra") return found;
        auto blocks = by_blocks(rules.front(), shown);
        if (!blocks) return std::unexpected(std::move(blocks.error()));
        found.push_back(std::move(*blocks));
        return found;
    }

private:
    [[nodiscard]] duration slice() const {
        return std::chrono::milliseconds(1000 * options_.seconds / options_.rounds);
    }
    // redis-benchmark calls by the SHA-1 alone, on the reference server.
    result<void> load(const std::vector<rule_bench>& rules) {
        auto server =
            open(fmt::format("redis://{}:{}", engine_.reference.host, engine_.reference.port));
        if (!server) return std::unexpected(std::move(server.error()));
        command_engine& commands = *server->commands();
        for (const rule_bench& rule : rules) {
            const auto text = words("SCRIPT", "LOAD", rule.body->source());
            auto done = commands.execute(text.idempotent(), system_clock().now() + 5s);
            if (!done) return std::unexpected(std::move(done.error()));
        }
        return {};
    }
    result<benchmark_rate> reference(const rule_bench& rule) {
        return run_redis_benchmark(engine_.reference,
                                   fmt::format("EVALSHA {} 1 {}{}_ref:__rand_int__ {}",
                                               rule.body->sha1(), prefix, rule.name, rule.words),
                                   options_.keys);
    }
    result<figure> increments(progress& shown);
    result<figure> refusals(progress& shown);
    result<figure> of_rule(const rule_bench& rule, progress& shown);
    result<figure> by_blocks(const rule_bench& rule, progress& shown);
    [[nodiscard]] figure summary(std::string name, int workers, const log_of_rounds& seen,
                                 std::string reference) const;
    [[nodiscard]] std::optional<double> value_bytes(const std::string& key) const;

    const limit_options& options_;
    const bench_engine& engine_;
    client& on_;
    std::vector<std::string> keys_;
};

figure limit_bench::summary(std::string name, int workers, const log_of_rounds& seen,
                            std::string reference) const {
    figure out{.bench = "limit " + std::move(name),
               .engine = engine_.label,
               .workers = workers,
               .seconds = static_cast<double>(options_.seconds),
               .cpus = engine_.cpus,
               .per_second = median(seen.rates),
               .client_cpu_us = median_if_any(seen.client_cpu),
               .server_cpu_us = median_if_any(seen.server_cpu)};
    if (seen.references.empty()) return out;
    out.reference = reference_rate{std::move(reference), median(seen.references),
                                   median_if_any(seen.reference_cpu)};
    out.ratio = median(seen.ratios);
    out.ratio_rounds = spread_of(seen.ratios);
    return out;
}

result<figure> limit_bench::increments(progress& shown) {
    log_of_rounds seen;
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step("INCR");
        const auto rate = run_redis_benchmark(
            engine_.reference, fmt::format("INCR {}incr:__rand_int__", prefix), options_.keys);
        if (!rate) return std::unexpected(rate.error());
        seen.rates.push_back(rate->per_second);
        seen.server_cpu.push_back(rate->server_cpu_us);
    }
    return summary("INCR, by redis-benchmark -c 64 -P 16", 64, seen, "");
}

// One thread, one key, whose refusal is known.
result<figure> limit_bench::refusals(progress& shown) {
    rate_limiter limiter(on_, token_bucket{.capacity = 1, .refill = 1, .period = 24h},
                         {.prefix = fmt::format("{}refused:", prefix)});
    static_cast<void>(limiter.take("hot"));
    log_of_rounds seen;
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step("known refusals");
        const auto done = run_round(
            engine_, 1, slice(),
            [&](int, std::uint64_t) {
                const auto answer = limiter.take("hot");
                return answer && !answer->allowed;
            },
            seen);
        if (!done) return std::unexpected(done.error());
    }
    return summary("refused hot key", 1, seen, "");
}

std::optional<double> limit_bench::value_bytes(const std::string& key) const {
    const auto size = words("STRLEN", key);
    const auto answer = on_.commands()->execute(size.idempotent(), system_clock().now() + 5s);
    if (!answer || answer->is_error()) return std::nullopt;
    return static_cast<double>(answer->number());
}

result<figure> limit_bench::of_rule(const rule_bench& rule, progress& shown) {
    const std::string own = fmt::format("{}{}:", prefix, rule.name);
    rate_limiter limiter(on_, rule.rule, {.prefix = own, .timeout = 5s});
    log_of_rounds seen;
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step(rule.name);
        const auto done = run_round(
            engine_, options_.threads, slice(),
            [&](int id, std::uint64_t i) {
                const auto at = (static_cast<std::uint64_t>(id) * 7919 + i * 31) % keys_.size();
                const auto answer = limiter.take(keys_[at]);
                return answer && answer->allowed;
            },
            seen);
        if (!done) return std::unexpected(done.error());
        shown.step("reference");
        const auto limit = reference(rule);
        if (!limit) return std::unexpected(limit.error());
        seen.references.push_back(limit->per_second);
        seen.reference_cpu.push_back(limit->server_cpu_us);
        seen.ratios.push_back(seen.rates.back() / limit->per_second);
    }
    auto out =
        summary(rule.name, options_.threads, seen, "the same script, redis-benchmark -c 64 -P 16");
    // Enough of them that the key does not run out before it is looked at.
    static_cast<void>(limiter.take("value", 500'000));
    out.value_bytes = value_bytes(own + "value");
    return out;
}

// All threads on one key, by blocks of ten thousand.
result<figure> limit_bench::by_blocks(const rule_bench& rule, progress& shown) {
    rate_limiter limiter(on_, token_bucket{.capacity = 1'000'000'000, .refill = 1'000'000'000},
                         {.prefix = fmt::format("{}blocks:", prefix),
                          .timeout = 5s,
                          .block = 10'000,
                          .block_life = 100ms});
    log_of_rounds seen;
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step("blocks");
        const auto done = run_round(
            engine_, options_.threads, slice(),
            [&](int, std::uint64_t) {
                const auto answer = limiter.take("hot");
                return answer && answer->allowed;
            },
            seen);
        if (!done) return std::unexpected(done.error());
        shown.step("reference");
        const auto limit = reference(rule);
        if (!limit) return std::unexpected(limit.error());
        seen.references.push_back(limit->per_second);
        seen.ratios.push_back(seen.rates.back() / limit->per_second);
    }
    return summary("gcra by blocks", options_.threads, seen,
                   "the plain script, redis-benchmark -c 64 -P 16");
}

exit_code run_limit(const limit_options& options) {
    const auto engine = bench_engine::make(options.common);
    if (!engine) return cannot_measure(engine.error());
    auto on = open(engine->url);
    if (!on) return cannot_measure(on.error());
    const auto found = limit_bench(options, *engine, *on).run();
    if (!found) return cannot_measure(found.error());
    return report(*found, options.common);
}

}  // namespace

void add_bench_limit(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<limit_options>();
    CLI::App* words = to.add_subcommand("limit", "Decisions of rate limiters, by each rule");
    add_bench_options(*words, options->common);
    add_choice(*words, "--algorithm", options->algorithm,
               {"all", "gcra", "fixed", "log", "counter"},
               "gcra is the token and the leaky bucket");
    add_whole(*words, "--threads", options->threads, {1, 1024}, "Threads that share a limiter");
    add_whole(*words, "--keys", options->keys, {1, 1'000'000},
              "Keys that they take from; 1: a hot one");
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long for each");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "In turns with the reference");
    words->footer(
        "The reference is redis-benchmark -c 64 -P 16 with the same script, keys and arguments.\n"
        "\nExample:\n  holdfast bench limit --format json\n");
    all.push_back({words, [options] { return run_limit(*options); }});
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench limit: what a decision costs, by each rule; by blocks of tokens; and when the
// answer is already known.
//
// For a rule, threads share one limiter and take from many keys in turn, always allowed; or
// processes do, with a limiter each. The reference is redis-benchmark with the same script, keys
// and arguments, in turns with it; for a file, a counter as one would write it by hand. What the
// server spends on each is its own account of CPU time. INCR by redis-benchmark, in the same run,
// says what the machine is worth.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/cleanup_process.hpp"
#include "commands/bench/figure.hpp"
#include "commands/bench/file_by_hand.hpp"
#include "commands/bench/progress.hpp"
#include "commands/bench/redis_benchmark.hpp"
#include "commands/bench/rounds.hpp"
#include "commands/bench/server_keys.hpp"
#include "commands/bench/workers.hpp"
#include "option_types.hpp"
#include "traffic/limit_plan.hpp"
#include "traffic/traffic_scripts.hpp"

#include <holdfast/holdfast.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view prefix = "bench:limit:";
constexpr std::string_view hot_key = "hot";

struct limit_bench_options {
    bench_options common{.engine = "redis:", .engines = "memory:, sqlite: or redis:"};
    std::string algorithm = "all";
    int threads = 64;
    int processes = 0;
    int keys = 1000;
    int rate = 0;
    int seconds = 6;
    int rounds = 3;

    [[nodiscard]] int workers() const { return processes > 0 ? processes : threads; }
    [[nodiscard]] std::chrono::milliseconds slice() const {
        return std::chrono::milliseconds(1000 * seconds / rounds);
    }
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

/// A decision, which must be as it is expected.
class decision_operation final : public operation {
public:
    /// Which key a worker takes from at its i-th turn.
    using chooser = std::function<std::string_view(std::uint64_t i)>;

    decision_operation(std::shared_ptr<rate_limiter> on, chooser key, bool allowed)
        : limiter_(std::move(on)), key_(std::move(key)), allowed_(allowed) {}

    result<void> take() override {
        const auto answer = limiter_->take(key_(turn_++));
        if (!answer) return std::unexpected(answer.error());
        if (answer->allowed == allowed_) return {};
        return fail(errc::unavailable, "a decision was not what it had to be");
    }

private:
    std::shared_ptr<rate_limiter> limiter_;
    chooser key_;
    bool allowed_;
    std::uint64_t turn_ = 0;
};

/// What is decided in a round, and by how many.
struct decisions {
    limit_rule rule;
    rate_limiter_options how;
    int keys = 1;  ///< 1: all take from one.
    bool allowed = true;
    bool by_one = false;  ///< Not by all workers.
    bool timed_all = true;
};

class limit_bench {
public:
    limit_bench(const limit_bench_options& options, const bench_engine& engine)
        : options_(options), engine_(engine) {
        for (int i = 0; i < options.keys; ++i) keys_.push_back(fmt::format("{:012}", i));
    }

    result<std::vector<figure>> run() {
        auto rules = rule_benches();
        std::erase_if(rules, [&](const rule_bench& one) {
            return options_.algorithm != "all" && options_.algorithm != one.name;
        });
        const cleanup_process keys = sweep_what_lasts();
        progress shown("bench limit", steps(rules) * options_.rounds);
        std::vector<figure> found;
        const auto keep = [&](result<figure> one) -> result<void> {
            if (!one) return std::unexpected(std::move(one.error()));
            found.push_back(std::move(*one));
            return {};
        };
        result<void> done;
        if (counts_increments()) {
            done = load(rules);
            if (done) done = keep(increments(shown));
        }
        if (done && compares()) done = keep(refusals(shown));
        for (const rule_bench& rule : rules) {
            if (done) done = keep(of_rule(rule, shown));
        }
        if (done && by_blocks_too(rules)) done = keep(by_blocks(rules.front(), shown));
        if (!done) return std::unexpected(std::move(done.error()));
        return found;
    }

private:
    [[nodiscard]] bool compares() const { return options_.rate == 0; }
    [[nodiscard]] bool in_file() const { return engine_.of == bench_engine::kind::file; }
    [[nodiscard]] bool counts_increments() const { return compares() && !in_file(); }
    [[nodiscard]] static bool by_blocks_too(const std::vector<rule_bench>& rules) {
        return rules.front().name == "gcra";
    }
    /// In each round, as run() takes them.
    [[nodiscard]] int steps(const std::vector<rule_bench>& rules) const {
        const int ours = static_cast<int>(rules.size()) + (by_blocks_too(rules) ? 1 : 0);
        return compares() ? 2 * ours + 1 + (counts_increments() ? 1 : 0) : ours;
    }
    [[nodiscard]] std::string reference_url() const {
        return fmt::format("redis://{}:{}", engine_.reference.host, engine_.reference.port);
    }
    [[nodiscard]] cleanup_process sweep_what_lasts() const;
    // redis-benchmark calls by the SHA-1 alone, on the reference server.
    result<void> load(const std::vector<rule_bench>& rules);
    result<void> round(const decisions& what, round_log& seen) const;
    /// The rate of the same by something well known, next to our last one.
    result<void> reference_round(const rule_bench& rule, round_log& seen) const;
    [[nodiscard]] std::string reference_name(std::string_view script) const;
    result<figure> increments(progress& shown);
    result<figure> refusals(progress& shown);
    result<figure> of_rule(const rule_bench& rule, progress& shown);
    result<figure> by_blocks(const rule_bench& rule, progress& shown);
    [[nodiscard]] figure summary(std::string name, int workers, round_log& seen,
                                 std::string reference) const;
    [[nodiscard]] std::optional<double> value_bytes(const rule_bench& rule,
                                                    const std::string& own) const;

    const limit_bench_options& options_;
    const bench_engine& engine_;
    std::vector<std::string> keys_;
};

// INCR leaves keys that do not expire, and a refusal one that lasts for a day; and the server may
// be the user's own. redis-benchmark must have ended before they are removed.
cleanup_process limit_bench::sweep_what_lasts() const {
    if (!counts_increments() || !engine_.owned.empty()) return {};
    return {cleanup_process::after::us_and_our_programs, [this] {
                std::vector<std::string> counters;
                for (const std::string& key : keys_) {
                    counters.push_back(fmt::format("{}incr:{}", prefix, key));
                }
                remove_keys(reference_url(), counters);
                const auto refused = detail::kept_key(fmt::format("{}refused:", prefix), hot_key,
                                                      detail::kept::token_bucket);
                remove_keys(engine_.url, {std::string(refused.view())});
            }};
}

result<void> limit_bench::load(const std::vector<rule_bench>& rules) {
    auto server = open(reference_url());
    if (!server) return std::unexpected(std::move(server.error()));
    command_engine& commands = *server->commands();
    for (const rule_bench& rule : rules) {
        const auto text = words("SCRIPT", "LOAD", rule.body->source());
        auto done = commands.execute(text.idempotent(), system_clock().now() + 5s);
        if (!done) return std::unexpected(std::move(done.error()));
    }
    return {};
}

result<void> limit_bench::round(const decisions& what, round_log& seen) const {
    const bool processes = options_.processes > 0 && !what.by_one;
    const worker_setup worker_group{
        .of = processes ? worker_setup::kind::processes : worker_setup::kind::threads,
        .workers = what.by_one ? 1 : options_.workers(),
        .rate = options_.rate,
        .length = options_.slice(),
        .timed_each = what.timed_all ? 1 : 16};
    const auto found = measure_round(engine_, worker_group, [&](client& on) -> operation_maker {
        const auto limiter = std::make_shared<rate_limiter>(on, what.rule, what.how);
        if (!what.allowed) static_cast<void>(limiter->take(hot_key));
        return [&what, this, limiter](int worker) -> std::unique_ptr<operation> {
            const auto first = static_cast<std::uint64_t>(worker) * 7919;
            auto key = [&what, this, first](std::uint64_t i) -> std::string_view {
                if (what.keys == 1) return hot_key;
                return keys_[(first + i * 31) % keys_.size()];
            };
            return std::make_unique<decision_operation>(limiter, std::move(key), what.allowed);
        };
    });
    if (!found) return std::unexpected(found.error());
    seen.add(*found);
    return {};
}

result<void> limit_bench::reference_round(const rule_bench& rule, round_log& seen) const {
    if (in_file()) {
        const auto r = counts_by_hand_in_a_file(
            engine_, {.workers = options_.workers(), .length = options_.slice()}, options_.keys);
        if (!r) return std::unexpected(r.error());
        if (r->failures > 0 || r->pairs_per_second <= 0) {
            return fail(errc::unavailable, "the reference's file failed: " + r->first_failure);
        }
        seen.add_reference(r->pairs_per_second);
        return {};
    }
    const auto limit =
        run_redis_benchmark(engine_.reference,
                            fmt::format("EVALSHA {} 1 {}{}_ref:__rand_int__ {}", rule.body->sha1(),
                                        prefix, rule.name, rule.words),
                            options_.keys);
    if (!limit) return std::unexpected(limit.error());
    seen.add_reference(limit->per_second, limit->server_cpu_us);
    return {};
}

std::string limit_bench::reference_name(std::string_view script) const {
    if (!in_file()) return fmt::format("{}, redis-benchmark -c 64 -P 16", script);
    return fmt::format("counters by prepared statements by hand, WAL, synchronous={}",
                       synchronous_of(engine_.url));
}

figure limit_bench::summary(std::string name, int workers, round_log& seen,
                            std::string reference) const {
    return seen.summary({.bench = "limit " + std::move(name),
                         .engine = engine_.label,
                         .workers = workers,
                         .seconds = static_cast<double>(options_.seconds),
                         .cpus = engine_.cpus},
                        std::move(reference));
}

result<figure> limit_bench::increments(progress& shown) {
    round_log seen;
    for (int round = 0; round < options_.rounds; ++round) {
        shown.step("INCR");
        const auto rate = run_redis_benchmark(
            engine_.reference, fmt::format("INCR {}incr:__rand_int__", prefix), options_.keys);
        if (!rate) return std::unexpected(rate.error());
        seen.add(rate->per_second, rate->server_cpu_us);
    }
    return summary("INCR, by redis-benchmark -c 64 -P 16", 64, seen, "");
}

// One thread, one key, whose refusal is known.
result<figure> limit_bench::refusals(progress& shown) {
    const decisions known{.rule = token_bucket{.capacity = 1, .refill = 1, .period = 24h},
                          .how = {.prefix = fmt::format("{}refused:", prefix)},
                          .allowed = false,
                          .by_one = true,
                          .timed_all = false};
    round_log seen;
    for (int i = 0; i < options_.rounds; ++i) {
        shown.step("known refusals");
        if (auto done = round(known, seen); !done) return std::unexpected(std::move(done.error()));
    }
    return summary("refused hot key", 1, seen, "");
}

std::optional<double> limit_bench::value_bytes(const rule_bench& rule,
                                               const std::string& own) const {
    auto on = open(engine_.url);
    if (!on) return std::nullopt;
    rate_limiter limiter(*on, rule.rule, {.prefix = own, .timeout = 5s});
    // Enough of them that the key does not run out before it is looked at.
    static_cast<void>(limiter.take("value", 500'000));
    const auto key = detail::kept_key(own, "value", detail::limit_plan(rule.rule).kept_as());
    const auto size = words("STRLEN", key.view());
    const auto answer = on->commands()->execute(size.idempotent(), system_clock().now() + 5s);
    if (!answer || answer->is_error()) return std::nullopt;
    return static_cast<double>(answer->number());
}

result<figure> limit_bench::of_rule(const rule_bench& rule, progress& shown) {
    const std::string own = fmt::format("{}{}:", prefix, rule.name);
    const decisions many{.rule = rule.rule,
                         .how = {.prefix = own, .timeout = 5s},
                         .keys = options_.keys,
                         .timed_all = engine_.of != bench_engine::kind::in_process};
    round_log seen;
    for (int i = 0; i < options_.rounds; ++i) {
        shown.step(rule.name);
        auto done = round(many, seen);
        if (done && compares()) {
            shown.step("reference");
            done = reference_round(rule, seen);
        }
        if (!done) return std::unexpected(std::move(done.error()));
    }
    auto out = summary(rule.name, options_.workers(), seen, reference_name("the same script"));
    out.value_bytes = value_bytes(rule, own);
    return out;
}

// All workers on one key, by blocks of ten thousand.
result<figure> limit_bench::by_blocks(const rule_bench& rule, progress& shown) {
    const decisions blocks{.rule = token_bucket{.capacity = 1'000'000'000, .refill = 1'000'000'000},
                           .how = {.prefix = fmt::format("{}blocks:", prefix),
                                   .timeout = 5s,
                                   .block = 10'000,
                                   .block_life = 100ms},
                           .timed_all = false};
    round_log seen;
    for (int i = 0; i < options_.rounds; ++i) {
        shown.step("blocks");
        auto done = round(blocks, seen);
        if (done && compares()) {
            shown.step("reference");
            done = reference_round(rule, seen);
        }
        if (!done) return std::unexpected(std::move(done.error()));
    }
    seen.forget_reference_cpu();
    return summary("gcra by blocks", options_.workers(), seen, reference_name("the plain script"));
}

exit_code run_limit(const limit_bench_options& options) {
    if (options.common.engine.starts_with("redlock")) {
        return cannot_measure({errc::invalid_argument,
                               "--engine: a quorum keeps locks and no rate limits; take redis:"});
    }
    const auto engine = bench_engine::make(options.common, bench_engine::breadth::no_quorum);
    if (!engine) return cannot_measure(engine.error());
    if (engine->of == bench_engine::kind::in_process && options.processes > 0) {
        return cannot_measure({errc::invalid_argument,
                               "--processes: memory: is in one process; measure redis: instead"});
    }
    const auto found = limit_bench(options, *engine).run();
    if (!found) return cannot_measure(found.error());
    return report(*found, options.common);
}

}  // namespace

void add_bench_limit(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<limit_bench_options>();
    CLI::App* words = to.add_subcommand("limit", "Decisions of rate limiters, by each rule");
    add_bench_options(*words, options->common);
    add_choice(*words, "--algorithm", options->algorithm,
               {"all", "gcra", "fixed", "log", "counter"}, "The rule");
    add_workers(*words, {.threads = &options->threads, .processes = &options->processes},
                "Threads that share a limiter");
    add_whole(*words, "--keys", options->keys, {1, 1'000'000}, "Number of keys; 1: a hot key");
    add_fixed_rate(*words, options->rate);
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long for each");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "Rounds, with the reference in turn");
    add_refusal(*words, "--tasks",
                "a rate limiter has no call for coroutines; take --threads or --processes");
    add_refusal(*words, "--kind", "a limit is no lock; --algorithm chooses its rule");
    for (const char* name : {"--hold", "--pause"}) {
        add_refusal(*words, name, "what is taken from a limit is not held; --rate paces it");
    }
    words->footer(
        std::string("The reference is redis-benchmark -c 64 -P 16 with the same script, keys and "
                    "arguments; for sqlite: it is counters by hand-written statements.\n"
                    "Example:\n"
                    "  holdfast bench limit --format json\n") +
        bench_exit_codes);
    add_measurement(all, words, options->common, [options] { return run_limit(*options); });
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench cache: what a hit and a cold miss cost, next to plain commands by the same client.
//
// A hit is compared with a GET of as many bytes, by 1, 8 and 64 threads; a hit in the process with
// a hit by the engine; a cold miss with the recipe that leaves the races open, GET and then SET.
// How many commands a cold miss takes is counted, the load itself costs nothing here.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/progress.hpp"
#include "commands/bench/rounds.hpp"
#include "option_types.hpp"

#include <holdfast/cache.hpp>
#include <holdfast/holdfast.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

// Of what a cache keeps for a value besides it (docs/internals/cache_format.md).
constexpr std::size_t entry_header = 78;
constexpr std::string_view hit_prefix = "bench:cache:hit:";
constexpr std::string_view raw_prefix = "bench:cache:raw:";
constexpr std::string_view miss_prefix = "bench:cache:miss:";
constexpr duration cache_patience = 5s;
constexpr std::chrono::milliseconds miss_life = 10s;

struct cache_bench_options {
    bench_options common{.engine = "redis:"};
    int threads = 0;  ///< 0: 1, 8 and 64.
    int keys = 100;
    int bytes = 100;
    int seconds = 3;
    int rounds = 3;

    [[nodiscard]] std::chrono::milliseconds slice() const {
        return std::chrono::milliseconds(1000 * seconds / rounds);
    }
    [[nodiscard]] std::vector<int> callers() const {
        return threads > 0 ? std::vector<int>{threads} : std::vector<int>{1, 8, 64};
    }
};

/// A value that is copied as it is.
struct plain_value {
    std::array<std::uint64_t, 4> numbers{};
};

/// An operation by a function of its turn.
template <class Take>
class turn_operation final : public operation {
public:
    turn_operation(std::uint64_t first, Take take) : turn_(first), take_(std::move(take)) {}
    result<void> take() override { return take_(turn_++); }

private:
    std::uint64_t turn_;
    Take take_;
};

template <class Take>
std::unique_ptr<operation> make_turns(int worker, Take take) {
    return std::make_unique<turn_operation<Take>>(static_cast<std::uint64_t>(worker) * 7919,
                                                  std::move(take));
}

result<void> must_hold(bool right) {
    if (right) return {};
    return fail(errc::unavailable, "a read did not find what it had to");
}

class cache_bench {
public:
    cache_bench(const cache_bench_options& options, const bench_engine& engine)
        : options_(options), engine_(engine), value_(static_cast<std::size_t>(options.bytes), 'v') {
        for (int i = 0; i < options.keys; ++i) keys_.push_back(fmt::format("{:012}", i));
    }

    result<std::vector<figure>> run() {
        const auto callers = options_.callers();
        progress shown("bench cache", (static_cast<int>(callers.size()) + 2) * 2 * options_.rounds);
        std::vector<figure> found;
        const auto keep = [&](result<figure> one) -> result<void> {
            if (!one) return std::unexpected(std::move(one.error()));
            found.push_back(std::move(*one));
            return {};
        };
        result<void> done;
        for (const int n : callers) {
            if (done) {
                done = keep(compare({"cache hit", "a GET of as many bytes by the same client", n},
                                    hits(), plain_gets(), shown));
            }
        }
        if (done) {
            done = keep(compare({"cache hit in the process", "a hit by the engine", 1, 1000},
                                hits_in_the_process(), hits(), shown));
        }
        if (done) {
            done = keep(compare({"cache cold miss", "GET and SET PX by hand", 1}, cold_misses(),
                                misses_by_hand(), shown));
        }
        if (!done) return std::unexpected(std::move(done.error()));
        return found;
    }

private:
    struct comparison {
        std::string name;
        std::string reference;
        int workers = 1;
        int timed_each = 1;
    };

    result<figure> compare(const comparison& what, const worker_plan& ours,
                           const worker_plan& reference, progress& shown) const {
        round_log seen;
        for (int i = 0; i < options_.rounds; ++i) {
            worker_setup setup{.workers = what.workers, .length = options_.slice()};
            shown.step(what.reference);
            const auto theirs = measure_round(engine_, setup, reference);
            if (!theirs) return std::unexpected(theirs.error());
            shown.step(what.name);
            setup.timed_each = what.timed_each;
            const auto mine = measure_round(engine_, setup, ours);
            if (!mine) return std::unexpected(mine.error());
            seen.add(*mine);
            seen.add_reference(*theirs);
        }
        return seen.summary({.bench = what.name,
                             .engine = engine_.label,
                             .workers = what.workers,
                             .seconds = static_cast<double>(options_.seconds),
                             .cpus = engine_.cpus},
                            what.reference);
    }

    // Longer than a round: what is read is there, and on a server of the user's it goes by itself.
    [[nodiscard]] cache_options lasting(std::string_view prefix) const {
        return {.prefix = std::string(prefix),
                .fresh = options_.slice() + 60s,
                .jitter = 0s,
                .stale = 1s,
                .timeout = cache_patience};
    }

    [[nodiscard]] worker_plan hits() const {
        return [this](client& on) -> operation_maker {
            auto cached = std::make_shared<cache<std::string>>(on, lasting(hit_prefix));
            const auto load = [this] { return value_; };
            for (int twice = 0; twice < 2; ++twice) {
                for (const auto& key : keys_) static_cast<void>(cached->get(key, load));
            }
            return [this, cached](int worker) {
                return make_turns(worker, [this, cached](std::uint64_t turn) {
                    const auto seen =
                        cached->get(keys_[turn % keys_.size()], [this] { return value_; });
                    if (!seen) return result<void>(std::unexpected(seen.error()));
                    return must_hold(*seen && (*seen)->size() == value_.size());
                });
            };
        };
    }

    [[nodiscard]] worker_plan plain_gets() const {
        return [this](client& on) -> operation_maker {
            const auto engine = on.commands();
            const std::string whole(entry_header + value_.size(), 'v');
            auto names = std::make_shared<std::vector<std::string>>();
            for (const auto& key : keys_) {
                names->push_back(fmt::format("{}{}", raw_prefix, key));
                const auto set =
                    words("SET", names->back(), whole, "PX", (options_.slice() + 60s).count());
                static_cast<void>(
                    engine->execute(set.idempotent(), engine->time().now() + cache_patience));
            }
            return [engine, names, size = whole.size()](int worker) {
                return make_turns(worker, [engine, names, size](std::uint64_t turn) {
                    const auto get = words("GET", (*names)[turn % names->size()]);
                    const auto seen =
                        engine->execute(get.idempotent(), engine->time().now() + cache_patience);
                    if (!seen) return result<void>(std::unexpected(seen.error()));
                    return must_hold(seen->text().size() == size);
                });
            };
        };
    }

    [[nodiscard]] worker_plan hits_in_the_process() const {
        return [this](client& on) -> operation_maker {
            cache_options how = lasting(fmt::format("{}plain:", hit_prefix));
            how.local_bytes = std::size_t{16} << 20;
            how.local_life = options_.slice() + 60s;
            auto cached = std::make_shared<cache<plain_value>>(on, std::move(how));
            for (int twice = 0; twice < 2; ++twice) {
                for (const auto& key : keys_) {
                    static_cast<void>(cached->get(key, [] { return plain_value{{1, 2, 3, 4}}; }));
                }
            }
            return [this, cached](int worker) {
                return make_turns(worker, [this, cached](std::uint64_t turn) {
                    const auto seen = cached->get(keys_[turn % keys_.size()],
                                                  [] { return plain_value{{1, 2, 3, 4}}; });
                    if (!seen) return result<void>(std::unexpected(seen.error()));
                    return must_hold(*seen && (*seen)->numbers[3] == 4);
                });
            };
        };
    }

    // No key is ever asked for again.
    [[nodiscard]] std::string fresh_key() const {
        return fmt::format("{:x}:{}", start_, next_key_.fetch_add(1));
    }

    [[nodiscard]] worker_plan cold_misses() const {
        return [this](client& on) -> operation_maker {
            auto cached = std::make_shared<cache<std::string>>(
                on, cache_options{.prefix = std::string(miss_prefix),
                                  .fresh = miss_life,
                                  .jitter = 0s,
                                  .stale = 0s,
                                  .timeout = cache_patience});
            return [this, cached](int worker) {
                return make_turns(worker, [this, cached](std::uint64_t) {
                    const auto seen = cached->get(fresh_key(), [this] { return value_; });
                    if (!seen) return result<void>(std::unexpected(seen.error()));
                    return must_hold(seen->has_value());
                });
            };
        };
    }

    [[nodiscard]] worker_plan misses_by_hand() const {
        return [this](client& on) -> operation_maker {
            const auto engine = on.commands();
            const std::string whole(entry_header + value_.size(), 'v');
            return [this, engine, whole](int worker) {
                return make_turns(worker, [this, engine, whole](std::uint64_t) {
                    const std::string key = fmt::format("{}{}", miss_prefix, fresh_key());
                    const auto get = words("GET", key);
                    const auto seen =
                        engine->execute(get.idempotent(), engine->time().now() + cache_patience);
                    if (!seen) return result<void>(std::unexpected(seen.error()));
                    const auto set = words("SET", key, whole, "PX", miss_life.count());
                    const auto done =
                        engine->execute(set.idempotent(), engine->time().now() + cache_patience);
                    if (!done) return result<void>(std::unexpected(done.error()));
                    return must_hold(seen->is_nil());
                });
            };
        };
    }

    const cache_bench_options& options_;
    const bench_engine& engine_;
    std::string value_;
    std::vector<std::string> keys_;
    const std::int64_t start_ = system_clock().now().time_since_epoch().count();
    mutable std::atomic<std::uint64_t> next_key_ = 0;
};

exit_code run_cache(const cache_bench_options& options) {
    const auto engine = bench_engine::make(options.common);
    if (!engine) return cannot_measure(engine.error());
    const auto found = cache_bench(options, *engine).run();
    if (!found) return cannot_measure(found.error());
    return report(*found, options.common);
}

}  // namespace

void add_bench_cache(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<cache_bench_options>();
    CLI::App* words = to.add_subcommand("cache", "Hits and cold misses of a cache");
    add_bench_options(*words, options->common);
    add_whole(*words, "--threads", options->threads, {1, 1024}, "Threads that share a cache")
        ->default_str("1, 8 and 64");
    add_whole(*words, "--keys", options->keys, {1, 1'000'000}, "Number of keys");
    add_whole(*words, "--bytes", options->bytes, {1, 1 << 20}, "Size of a value");
    add_whole(*words, "--seconds", options->seconds, {1, 3600}, "How long for each");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "Rounds, with the reference in turn");
    words->footer(
        std::string("The references are plain commands by the same client; that of a hit in the "
                    "process is a hit by the engine.\n"
                    "Example:\n"
                    "  holdfast bench cache --format json\n") +
        bench_exit_codes);
    add_measurement(all, words, options->common, [options] { return run_cache(*options); });
}

}  // namespace holdfast::app

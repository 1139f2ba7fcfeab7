// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench keeper: what it costs to keep many leases alive.
//
// Takes them all, then does nothing for three ttls (or as long as told) while the keeper renews
// each at every third of its ttl, and looks at the process's CPU time over that. On memory: the
// engine's own work is in it.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/figure.hpp"
#include "commands/bench/progress.hpp"
#include "option_types.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/holdfast.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::app {
namespace {

constexpr int ttls_kept = 3;
constexpr int looks = 12;

struct keeper_options {
    bench_options common{.engine = "memory:"};
    int leases = 100'000;
    duration ttl = std::chrono::seconds(10);
    int seconds = 0;  ///< 0: three ttls.

    [[nodiscard]] duration length() const {
        return seconds > 0 ? std::chrono::seconds(seconds) : ttl * ttls_kept;
    }
};

// Each hand has a part of them.
constexpr int hands = 32;

using leases = std::vector<std::optional<lease>>;

/// Calls `one(i)` for each lease, by many threads: a trip for each would take long by one.
template <class One>
void for_all(int count, const One& one) {
    std::vector<std::jthread> threads;
    for (int hand = 0; hand < hands; ++hand) {
        threads.emplace_back([=, &one] {
            for (int i = hand; i < count; i += hands) one(i);
        });
    }
}

result<leases> take_all(client& on, const keeper_options& options) {
    leases held(static_cast<std::size_t>(options.leases));
    std::mutex guard;
    std::optional<error> failure;
    for_all(options.leases, [&](int i) {
        auto one = on.mutex(fmt::format("bench/keeper/{}", i)).try_acquire({.ttl = options.ttl});
        if (one) {
            held[static_cast<std::size_t>(i)] = std::move(*one);
            return;
        }
        const std::scoped_lock held_guard(guard);
        if (!failure) failure = std::move(one.error());
    });
    if (failure) return std::unexpected(std::move(*failure));
    return held;
}

figure keep(client& on, const keeper_options& options, const bench_engine& engine,
            progress& shown) {
    const auto before = on.statistics();
    const double cpu = own_cpu_seconds();
    const time_point start = system_clock().now();
    for (int look = 0; look < looks; ++look) {
        shown.step(fmt::format("keeping {} leases", options.leases));
        std::this_thread::sleep_for(options.length() / looks);
    }
    const double used = own_cpu_seconds() - cpu;
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    const auto after = on.statistics();
    std::optional<double> slack;  // of leases that were renewed
    if (after.least_slack != duration::max()) {
        slack = std::chrono::duration<double, std::milli>(after.least_slack).count();
    }
    return {.bench = "keeper",
            .engine = engine.label,
            .workers = 1,
            .seconds = seconds,
            .leases = options.leases,
            .cpu_percent = 100 * used / seconds,
            .renewed = after.renewed - before.renewed,
            .lost = after.lost,
            .least_slack_ms = slack};
}

std::uint64_t release_all(leases held) {
    std::atomic<std::uint64_t> failed = 0;
    for_all(static_cast<int>(held.size()), [&](int i) {
        if (!std::move(*held[static_cast<std::size_t>(i)]).release()) ++failed;
    });
    return failed;
}

exit_code run_keeper(const keeper_options& options) {
    const auto engine = bench_engine::make(options.common);
    if (!engine) return cannot_measure(engine.error());
    auto on = open(engine->url);
    if (!on) return cannot_measure(on.error());
    figure found;
    std::uint64_t gone = 0;
    {
        progress shown("bench keeper", looks + 2);
        shown.step(fmt::format("taking {} leases", options.leases));
        auto held = take_all(*on, options);
        if (!held) return cannot_measure(held.error());
        found = keep(*on, options, *engine, shown);
        shown.step("giving them back");
        gone = release_all(std::move(*held));
    }
    const exit_code shown = report({found}, options.common);
    if (found.lost == 0U && gone == 0) return shown;
    fmt::print(stderr, "holdfast: {} leases were lost, {} could not be given back\n",
               found.lost.value_or(0), gone);
    return exit_code::failure;
}

}  // namespace

void add_bench_keeper(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<keeper_options>();
    CLI::App* words = to.add_subcommand("keeper", "The cost of holding many leases");
    add_bench_options(*words, options->common);
    add_whole(*words, "--leases", options->leases, {1, 10'000'000}, "How many");
    add_span(*words, "--ttl", options->ttl, "Of each lease; renewed at every third of it",
             shortest_ttl, longest_ttl);
    add_whole(*words, "--seconds", options->seconds, {1, 86'400}, "For how long")
        ->default_str("three ttls");
    words->footer(
        "Example:\n"
        "  holdfast bench keeper --leases 10000 --ttl 5s\n"
        "Exit codes: 0 measured, 1 a lease was lost (or no plot), 2 misuse, 5 no answer\n");
    add_measurement(all, words, options->common, [options] { return run_keeper(*options); });
}

}  // namespace holdfast::app

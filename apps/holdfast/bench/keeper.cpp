// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench keeper: what it costs to keep many leases alive.
//
// Takes them all, then does nothing for three ttls while the keeper renews each at every third of
// its ttl, and looks at the process's CPU time over that. On memory: the engine's own work is in
// it.
#include "bench/bench.hpp"
#include "bench/bench_engine.hpp"
#include "bench/figure.hpp"
#include "bench/own_server.hpp"
#include "bench/progress.hpp"
#include "option_types.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/url.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::app {
namespace {

constexpr int ttls_kept = 3;
constexpr int looks = 12;

struct keeper_options {
    std::string engine = "memory:";
    std::string format = "table";
    int leases = 100'000;
    duration ttl = std::chrono::seconds(10);
};

result<std::vector<lease>> take_all(client& on, const keeper_options& options) {
    std::vector<lease> held;
    held.reserve(static_cast<std::size_t>(options.leases));
    for (int i = 0; i < options.leases; ++i) {
        auto one = on.mutex(fmt::format("bench/keeper/{}", i)).try_acquire({.ttl = options.ttl});
        if (!one) return std::unexpected(std::move(one.error()));
        held.push_back(std::move(*one));
    }
    return held;
}

figure keep(client& on, const keeper_options& options, progress& shown) {
    const auto before = on.statistics();
    const double cpu = own_cpu_seconds();
    const time_point start = system_clock().now();
    for (int look = 0; look < looks; ++look) {
        shown.step(fmt::format("keeping {} leases", options.leases));
        std::this_thread::sleep_for(options.ttl * ttls_kept / looks);
    }
    const double used = own_cpu_seconds() - cpu;
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    const auto after = on.statistics();
    return {.bench = "keeper",
            .engine = redacted(options.engine),
            .workers = 1,
            .seconds = seconds,
            .leases = options.leases,
            .cpu_percent = 100 * used / seconds,
            .renewed = after.renewed - before.renewed,
            .lost = after.lost,
            .least_slack_ms = std::chrono::duration<double, std::milli>(after.least_slack).count()};
}

// Many at a time, so that they share their trips; not all at once, because a client bounds what is
// under way.
std::uint64_t give_back(std::vector<lease> held) {
    constexpr int most_under_way = 1000;
    std::mutex guard;
    std::condition_variable fewer;
    int under_way = 0;
    std::uint64_t failed = 0;
    for (lease& one : held) {
        std::unique_lock lock(guard);
        fewer.wait(lock, [&] { return under_way < most_under_way; });
        ++under_way;
        lock.unlock();
        std::move(one).release_async([&](const result<void>& done) {
            const std::scoped_lock inner(guard);
            failed += done ? 0 : 1;
            --under_way;
            fewer.notify_one();
        });
    }
    std::unique_lock lock(guard);
    fewer.wait(lock, [&] { return under_way == 0; });
    return failed;
}

exit_code run_keeper(const keeper_options& options) {
    std::unique_ptr<own_server> server;
    std::string url = options.engine;
    if (url == "redis:") {
        auto started = own_server::start();
        if (!started) return cannot_measure(started.error());
        server = std::move(*started);
        url = fmt::format("redis://127.0.0.1:{}", server->port());
    }
    auto on = open(url);
    if (!on) return cannot_measure(on.error());
    figure found;
    std::uint64_t gone = 0;
    {
        progress shown("bench keeper", looks + 2);
        shown.step(fmt::format("taking {} leases", options.leases));
        auto held = take_all(*on, options);
        if (!held) return cannot_measure(held.error());
        found = keep(*on, options, shown);
        shown.step("giving them back");
        gone = give_back(std::move(*held));
    }
    report({found}, options.format);
    if (found.lost == 0U && gone == 0) return exit_code::success;
    fmt::print(stderr, "holdfast: {} leases were lost, {} could not be given back\n",
               found.lost.value_or(0), gone);
    return exit_code::failure;
}

}  // namespace

void add_bench_keeper(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<keeper_options>();
    CLI::App* words = to.add_subcommand("keeper", "Hold many leases for three ttls");
    add_bench_options(*words, options->engine, options->format);
    add_whole(*words, "--leases", options->leases, {1, 10'000'000}, "How many");
    add_span(*words, "--ttl", options->ttl, "Each lease's; renewed at every third of it");
    words->footer("Exit code 1 if a lease was lost.\n");
    all.push_back({words, [options] { return run_keeper(*options); }});
}

}  // namespace holdfast::app

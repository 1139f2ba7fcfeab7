// SPDX-License-Identifier: Apache-2.0
//
// holdfast bench tasks: empty tasks through a runner, against a loop by hand on the same kind of
// file, in turns.
#include "commands/bench/bench.hpp"
#include "commands/bench/bench_engine.hpp"
#include "commands/bench/figure.hpp"
#include "commands/bench/progress.hpp"
#include "commands/bench/sqlite_tasks.hpp"
#include "option_types.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::app {
namespace {

struct tasks_bench_options {
    bench_options common{.engine = "sqlite:", .engines = "sqlite: or sqlite:/path"};
    int tasks = 1000;
    int rounds = 5;
    bool locks = false;
};

/// Counts ends, and waits for them.
class end_count {
public:
    void add() {
        {
            const std::scoped_lock guard(mutex_);
            ++count_;
        }
        changed_.notify_all();
    }
    void wait_for(int wanted) {
        std::unique_lock guard(mutex_);
        changed_.wait(guard, [&] { return count_ >= wanted; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int count_ = 0;
};

const task_handler empty_task = [](task_context&) -> result<std::string> { return "done"; };

// Seconds from the runner's start to the last end.
result<double> run_tasks(task_store& tasks, client* locks, int count) {
    for (int i = 0; i < count; ++i) {
        if (auto sent = tasks.submit({}); !sent) return std::unexpected(std::move(sent.error()));
    }
    end_count ended;
    task_runner runner(tasks, empty_task,
                       {.locks = locks, .on_outcome = [&](const task_outcome&) { ended.add(); }});
    const time_point begin = system_clock().now();
    runner.start();
    ended.wait_for(count);
    const double seconds = std::chrono::duration<double>(system_clock().now() - begin).count();
    runner.stop();
    if (auto gone = tasks.forget(duration::zero()); !gone) return std::unexpected(gone.error());
    return seconds;
}

// The runner has looked once more by then, and sleeps.
void wait_until_idle() {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

// From the submission to the handler's start, on a runner that has nothing to do. `other` submits:
// as another process, it reaches the runner through the file only.
result<percentiles> claim_latency(task_store& tasks, task_store& other, client* locks, int count) {
    std::vector<float> found;
    end_count ended;
    std::atomic<std::int64_t> sent_at = 0;
    task_runner runner(tasks,
                       [&](task_context&) -> result<std::string> {
                           const auto now = system_clock().now().time_since_epoch().count();
                           found.push_back(static_cast<float>(now - sent_at) / 1000);
                           return "done";
                       },
                       {.locks = locks, .on_outcome = [&](const task_outcome&) { ended.add(); }});
    runner.start();
    for (int i = 1; i <= count; ++i) {
        wait_until_idle();
        sent_at = system_clock().now().time_since_epoch().count();
        if (auto sent = other.submit({}); !sent) return std::unexpected(std::move(sent.error()));
        ended.wait_for(i);
    }
    runner.stop();
    return percentiles_of(found);
}

result<figure> measure_tasks(const tasks_bench_options& options, const bench_engine& engine,
                             progress& shown) {
    auto tasks = open_tasks(engine.url);
    if (!tasks) return std::unexpected(std::move(tasks.error()));
    auto on = open(engine.url);
    if (!on) return std::unexpected(std::move(on.error()));
    client* const locks = options.locks ? &*on : nullptr;
    const std::string other = (engine.directory.path() / "by_hand.db").native();
    std::vector<double> rates;
    std::vector<double> reference;
    std::vector<double> ratios;
    for (int i = 0; i < options.rounds; ++i) {
        shown.step(fmt::format("round {}", i + 1));
        const double by_hand = bench::tasks_by_sqlite(other, options.tasks);
        if (by_hand <= 0) return fail(errc::unavailable, "the loop by hand failed");
        const auto ours = run_tasks(*tasks, locks, options.tasks);
        if (!ours) return std::unexpected(ours.error());
        rates.push_back(options.tasks / *ours);
        reference.push_back(options.tasks / by_hand);
        ratios.push_back(by_hand / *ours);
    }
    auto submitter = open_tasks(engine.url);
    if (!submitter) return std::unexpected(std::move(submitter.error()));
    auto latency = claim_latency(*tasks, *submitter, locks, 200);
    if (!latency) return std::unexpected(latency.error());
    return figure{.bench = options.locks ? "tasks with locks" : "tasks",
                  .engine = engine.label,
                  .seconds = static_cast<double>(options.rounds * options.tasks) / median(rates),
                  .per_second = median(rates),
                  .reference = reference_rate{.name = "claim and finish by hand, SQLite",
                                              .per_second = median(reference)},
                  .ratio = median(ratios),
                  .ratio_rounds = spread_of(ratios),
                  .acquire_us = *latency};
}

exit_code run_tasks_bench(const tasks_bench_options& options) {
    const auto engine = bench_engine::make(options.common, bench_engine::breadth::no_quorum);
    if (!engine) return cannot_measure(engine.error());
    if (engine->of != bench_engine::kind::file || engine->directory.path().empty()) {
        return cannot_measure({errc::unsupported, "tasks are measured on sqlite: only"});
    }
    progress shown("bench tasks", options.rounds);
    auto found = measure_tasks(options, *engine, shown);
    if (!found) return cannot_measure(found.error());
    return report({*found}, options.common);
}

}  // namespace

void add_bench_tasks(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<tasks_bench_options>();
    CLI::App* words = to.add_subcommand("tasks", "Empty tasks against a loop by hand");
    add_bench_options(*words, options->common);
    add_whole(*words, "--tasks", options->tasks, {1, 100'000}, "In each round");
    add_whole(*words, "--rounds", options->rounds, {1, 100}, "How many");
    words->add_flag("--locks", options->locks, "With locks in the same file");
    words->footer(
        "Example:\n"
        "  holdfast bench tasks\n"
        "\n"
        "acquire is the time from a submission by another process to its handler, on an\n"
        "idle worker.\n" +
        std::string(bench_exit_codes));
    add_measurement(all, words, options->common, [options] { return run_tasks_bench(*options); });
}

}  // namespace holdfast::app

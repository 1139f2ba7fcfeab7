// SPDX-License-Identifier: Apache-2.0
//
// holdfast worker: runs the tasks of queues, each by a program, or videos by ffmpeg.
//
// Its order matters: the signals are taken over and the guardians are started while there is one
// thread; then the engine is opened, which starts others. Standard output has one line of JSON for
// each task; the log goes to stderr.
#include "command_line.hpp"
#include "commands/task/task.hpp"
#include "commands/video/transcode.hpp"
#include "commands/worker/command_handler.hpp"
#include "commands/worker/metrics_server.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "printable.hpp"

#include <holdfast/prometheus.hpp>
#include <holdfast/tasks/task_metrics.hpp>
#include <holdfast/tasks/task_runner.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

struct worker_words {
    engine_options engine;
    std::string locks;
    std::vector<std::string> queues;
    std::vector<std::string> words;
    int concurrency = 1;
    duration lease = 30s;
    std::optional<duration> max_hold;
    duration drain = 30s;
    std::string output;
    std::string task;
    std::string metrics;
    bool video = false;
    bool until_empty = false;
};

// A lease that a test may wait for, and no shorter one.
constexpr duration shortest_lease = 200ms;

result<void> check(const worker_words& options) {
    if (options.video == !options.words.empty()) {
        return fail(errc::invalid_argument,
                    "name a command after --, or use --video: holdfast worker -- COMMAND {}");
    }
    return {};
}

class worker_job {
public:
    worker_job(const worker_words& options, signal_inbox& signals, command_ground& ground)
        : options_(options), signals_(signals), ground_(ground) {}

    [[nodiscard]] exit_code run() {
        auto tasks = open_task_store(options_.engine);
        if (!tasks) return complain(tasks.error());
        auto url = options_.locks.empty() ? chosen_engine(options_.engine)
                                          : result<std::string>(options_.locks);
        if (!url) return complain(url.error());
        auto locks = open(*url);
        if (!locks) return complain(locks.error());
        task_runner runner(*tasks, handler(), runner_options(*locks));
        auto metrics = serve_metrics(runner, *locks);
        if (!metrics) return complain(metrics.error());
        runner.start();
        if (!options_.task.empty()) return run_one(runner);
        return run_until_told(*tasks, runner);
    }

private:
    [[nodiscard]] result<std::unique_ptr<metrics_server>> serve_metrics(task_runner& runner,
                                                                        client& locks) {
        if (options_.metrics.empty()) return nullptr;
        auto made = metrics_server::start(options_.metrics, [&] {
            return to_prometheus(runner.statistics()) +
                   to_prometheus(locks.statistics()).value_or("");
        });
        if (made) fmt::print(stderr, "metrics: http://127.0.0.1:{}/metrics\n", (*made)->port());
        return made;
    }

    [[nodiscard]] task_handler handler() {
        const duration grace = std::min<duration>(options_.lease / 3, 10s);
        if (options_.video) return make_video_handler({.grace = grace}, ground_);
        return make_command_handler({options_.words, options_.output, grace}, ground_);
    }

    [[nodiscard]] std::vector<std::string> queues() const {
        if (!options_.queues.empty()) return options_.queues;
        return {options_.video ? video_queue : "default"};
    }

    [[nodiscard]] task_runner_options runner_options(client& locks) {
        const bool video = options_.video;
        return {.queues = queues(),
                // One that processes a task by its id looks for no others.
                .concurrency =
                    options_.task.empty() ? static_cast<std::uint32_t>(options_.concurrency) : 0,
                .lease = options_.lease,
                .max_hold = options_.max_hold.value_or(video ? 2h : 1h),
                .locks = &locks,
                .lock_prefix = video ? "video_processing_lock:" : "task:",
                .observer = [this](const task_event& event) { log(event); },
                .on_outcome =
                    [this, video](const task_outcome& outcome) {
                        const std::scoped_lock guard(mutex_);
                        fmt::print("{}\n", to_json(outcome, video ? "video_id" : "task_id"));
                        std::fflush(stdout);
                    }};
    }

    void log(const task_event& event) {
        const std::scoped_lock guard(mutex_);
        fmt::print(stderr, "{}\n", printable(to_string(event)));
    }

    [[nodiscard]] exit_code run_one(task_runner& runner) {
        const auto outcome = runner.process(options_.task);
        switch (outcome.what) {
            case task_outcome::status::success: return exit_code::success;
            case task_outcome::status::skipped: return exit_code::busy;
            case task_outcome::status::error: break;
        }
        return exit_code::failure;
    }

    // The signal that asks us to end, if one came by then.
    [[nodiscard]] bool asked_to_end(duration at_most) {
        pollfd wait{signals_.readable(), POLLIN, 0};
        ::poll(&wait, 1,
               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(at_most).count()));
        bool asked = false;
        while (const auto signal = signals_.next()) asked = asked || asks_to_end(*signal);
        return asked;
    }

    [[nodiscard]] bool is_empty(task_store& tasks) const {
        const auto seen = tasks.queues();
        if (!seen) return false;
        const auto ours = queues();
        return std::ranges::none_of(*seen, [&](const queue_info& one) {
            return std::ranges::find(ours, one.name) != ours.end() &&
                   std::ranges::any_of(one.tasks, [](const auto& count) {
                       return !has_ended(count.first) && count.second > 0;
                   });
        });
    }

    [[nodiscard]] exit_code run_until_told(task_store& tasks, task_runner& runner) {
        while (!asked_to_end(options_.until_empty ? 20ms : 500ms)) {
            if (options_.until_empty && is_empty(tasks)) return exit_code::success;
        }
        const time_point give_up = system_clock().now() + options_.drain;
        if (!runner.drain(0s)) complain("draining: waits for what runs; once more to stop it");
        while (!runner.drain(0s) && system_clock().now() < give_up && !asked_to_end(20ms)) {
        }
        runner.stop();
        return exit_code::success;
    }

    const worker_words& options_;
    signal_inbox& signals_;
    command_ground& ground_;
    std::mutex mutex_;
};

exit_code work(const worker_words& options) {
    if (const auto fit = check(options); !fit) return complain(fit.error());
    auto signals = signal_inbox::open();
    if (!signals) return complain(signals.error());
    // process() of a task by its id runs beside the others.
    auto ground = command_ground::open(*signals, options.concurrency + 1);
    if (!ground) return complain(ground.error());
    return worker_job(options, *signals, *ground).run();
}

}  // namespace

void add_worker(CLI::App& to, command_list& all, const std::vector<std::string>& command_words) {
    const auto options = std::make_shared<worker_words>();
    CLI::App* words = to.add_subcommand("worker", "Run tasks, each by a program; or videos");
    words->group("");  // in the overview, task names it
    words->add_option("--queue", options->queues, "Its queues, the first one first (default)")
        ->type_name("NAME");
    words->add_flag("--video", options->video, "Transcode videos, with ffmpeg");
    add_whole(*words, "--concurrency", options->concurrency, {1, 64}, "So many at a time");
    add_span(*words, "--lease", options->lease, "When another may take over from a dead one",
             shortest_lease, 24h);
    add_span(*words, "--max-hold", options->max_hold, "The longest run")
        ->default_str("1h, 2h with --video");
    add_span(*words, "--drain", options->drain, "After SIGTERM, to end what runs");
    words->add_option("--output", options->output, "Publish $HOLDFAST_OUTPUT as DIR/ID")
        ->type_name("DIR");
    words->add_option("--task", options->task, "Process this one, and end")->type_name("ID");
    words->add_flag("--until-empty", options->until_empty, "End when no task is left");
    words->add_option("--metrics", options->metrics, "Serve /metrics there: 127.0.0.1:9464")
        ->type_name("ADDRESS");
    words->add_option("--locks", options->locks, "Another engine for the locks")->type_name("URL");
    add_engine_options(*words, options->engine);
    words->footer(
        "Example:\n"
        "  holdfast worker --queue mail -- ./send.sh {}   # {} is what was submitted\n"
        "Exit codes: 0 told to end; of --task: 0 success, 1 error, 3 skipped; 2 misuse\n");
    all.push_back({.words = words, .run = [options, &command_words] {
                       options->words = command_words;
                       return work(*options);
                   }});
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
//
// holdfast task cancel, retry, queue, schedule: what changes tasks, queues and recurring tasks.
#include "commands/task/task.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "printable.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "time_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>

namespace holdfast::app {
namespace {

exit_code cancel_task(const task_options& options) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    const auto state = tasks->cancel(options.id);
    if (!state) return complain(state.error());
    fmt::print("{}\n", *state == task_state::running ? "asked to stop" : "cancelled");
    return exit_code::success;
}

exit_code retry_task(const task_options& options) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    const auto done = tasks->requeue(options.id);
    if (!done) return complain(done.error());
    fmt::print("pending\n");
    return exit_code::success;
}

struct queue_options : task_options {
    bool pause = false;
    bool resume = false;
    int limit = -1;
};

std::string count_of(const queue_info& queue, task_state state) {
    const auto found = queue.tasks.find(state);
    return std::to_string(found == queue.tasks.end() ? 0 : found->second);
}

exit_code list_queues(task_store& tasks) {
    const auto found = tasks.queues();
    if (!found) return complain(found.error());
    table out({"QUEUE", "PENDING", "RUNNING", "FINISHED", "DEAD", "LIMIT", ""});
    for (const queue_info& one : *found) {
        out.add({one.name, count_of(one, task_state::pending), count_of(one, task_state::running),
                 count_of(one, task_state::finished), count_of(one, task_state::dead),
                 one.most_running == 0 ? "-" : std::to_string(one.most_running),
                 one.paused ? "paused" : ""});
    }
    fmt::print("{}", out.text(terminal::of(STDOUT_FILENO)));
    return exit_code::success;
}

exit_code change_queue(const queue_options& options) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    if (options.id.empty()) return list_queues(*tasks);
    if (options.pause && options.resume) {
        return complain(error{errc::invalid_argument, "use --pause or --resume, not both"});
    }
    result<void> done;
    if (options.pause) done = tasks->pause(options.id);
    if (options.resume) done = tasks->resume(options.id);
    if (done && options.limit >= 0) {
        done = tasks->limit(options.id, static_cast<std::uint32_t>(options.limit));
    }
    return done ? exit_code::success : complain(done.error());
}

struct schedule_words : task_options {
    task_schedule what;
    std::string missed = "latest";
    bool remove = false;
};

exit_code list_schedules(task_store& tasks) {
    const auto found = tasks.schedules();
    if (!found) return complain(found.error());
    table out({"NAME", "CRON", "NEXT", "QUEUE", "ARGUMENTS"});
    for (const task_schedule& one : *found) {
        out.add({one.name, printable(one.cron), show_moment(one.next), one.task.queue,
                 printable(one.task.arguments)});
    }
    fmt::print("{}", out.text(terminal::of(STDOUT_FILENO)));
    return exit_code::success;
}

exit_code change_schedule(const schedule_words& options) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    if (options.what.name.empty()) return list_schedules(*tasks);
    if (options.remove) {
        const auto gone = tasks->unschedule(options.what.name);
        if (!gone) return complain(gone.error());
        if (*gone) return exit_code::success;
        complain(fmt::format("there is no recurring task '{}'", options.what.name));
        return exit_code::failure;
    }
    task_schedule what = options.what;
    what.missed = options.missed == "all"    ? catch_up::all
                  : options.missed == "none" ? catch_up::none
                                             : catch_up::latest;
    const auto done = tasks->schedule(what);
    return done ? exit_code::success : complain(done.error());
}

}  // namespace

void add_task_cancel(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<task_options>();
    CLI::App* words = to.add_subcommand("cancel", "End a task that is pending or running");
    words->add_option("ID", options->id, "Which")->required();
    add_engine_options(*words, options->engine);
    words->footer(
        "A pending task ends at once. The worker of a running one sends SIGTERM to its\n"
        "command within a third of the lease.\n"
        "Exit codes: 0 done, 2 misuse, or it has ended; 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return cancel_task(*options); }});
}

void add_task_retry(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<task_options>();
    CLI::App* words = to.add_subcommand("retry", "Run a dead or cancelled task again");
    words->add_option("ID", options->id, "Which")->required();
    add_engine_options(*words, options->engine);
    words->footer(
        "It is pending again, with all its retries.\n"
        "Exit codes: 0 done, 2 misuse, or it is not dead; 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return retry_task(*options); }});
}

void add_task_queue(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<queue_options>();
    CLI::App* words = to.add_subcommand("queue", "List queues; pause, resume or limit one");
    words->add_option("NAME", options->id, "Which; without it, all are listed");
    words->add_flag("--pause", options->pause, "Claim nothing more of it");
    words->add_flag("--resume", options->resume, "Claim again");
    add_whole(*words, "--limit", options->limit, {0, 1'000'000}, "Run so many at most; 0: any")
        ->default_str("");
    add_engine_options(*words, options->engine);
    words->footer(
        "Example:\n"
        "  holdfast task queue mail --limit 4\n"
        "Exit codes: 0 done, 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return change_queue(*options); }});
}

void add_task_schedule(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<schedule_words>();
    CLI::App* words = to.add_subcommand("schedule", "Submit a task again and again, by cron");
    words->add_option("NAME", options->what.name, "Which; without it, all are listed");
    words->add_option("CRON", options->what.cron, "When, in UTC: '0 3 * * *', @daily");
    words->add_option("ARGUMENTS", options->what.task.arguments, "What the worker gets");
    words->add_option("--queue", options->what.task.queue, "Its queue")
        ->type_name("NAME")
        ->default_str(options->what.task.queue);
    add_choice(*words, "--missed", options->missed, {"latest", "all", "none"},
               "Which ticks to catch up");
    words->add_flag("--remove", options->remove, "Submit it no more");
    add_engine_options(*words, options->engine);
    words->footer(
        "Example:\n"
        "  holdfast task schedule nightly '0 3 * * *' report --queue reports\n"
        "\n"
        "A tick is submitted once, however many workers run, while one of them runs.\n"
        "Exit codes: 0 done, 1 there is none, 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return change_schedule(*options); }});
}

}  // namespace holdfast::app

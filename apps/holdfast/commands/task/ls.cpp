// SPDX-License-Identifier: Apache-2.0
//
// holdfast task ls, show: tasks one to a line, and one of them in full.
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

struct task_ls_options : task_options {
    std::string queue;
    std::string state = "any";
    int limit = 100;
};

exit_code list_tasks(const task_ls_options& options) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    task_filter which{.queue = options.queue, .limit = static_cast<std::uint32_t>(options.limit)};
    if (options.state != "any") which.state = parse_task_state(options.state).value();
    const auto found = tasks->list(which);
    if (!found) return complain(found.error());
    if (options.format == "json") {
        for (const task_info& one : *found) fmt::print("{}\n", to_json(one));
        return exit_code::success;
    }
    if (found->empty()) {
        fmt::print(stderr, "there are no such tasks\n");
        return exit_code::success;
    }
    table out({"ID", "QUEUE", "TRIES", "CREATED", "STATE"});
    for (const task_info& one : *found) {
        out.add({one.id, one.queue, std::to_string(one.attempt), show_time_of_day(one.created),
                 show_state(one)});
    }
    fmt::print("{}", out.text(terminal::of(STDOUT_FILENO)));
    return exit_code::success;
}

void print_task(const task_info& task) {
    const auto line = [](std::string_view name, std::string_view value) {
        if (!value.empty()) fmt::print("  {:<10} {}\n", name, printable(value));
    };
    fmt::print("{}: {}\n", task.id, show_state(task));
    line("queue", task.queue);
    line("arguments", task.arguments);
    line("tries",
         fmt::format("{} ({} failed, {} crashed)", task.attempt, task.failures, task.crashes));
    line("worker", task.owner);
    line("fence", task.fence.value == 0 ? "" : to_string(task.fence));
    if (task.state == task_state::running) line("lease", show_roughly(task.lease_left) + " left");
    line("result", task.result);
    line("error", task.error);
    line("output", task.output);
    line("created", show_moment(task.created));
    if (task.ended.time_since_epoch().count() > 0) line("ended", show_moment(task.ended));
}

exit_code show_task(const task_options& options) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    const auto found = tasks->find(options.id);
    if (!found) return complain(found.error());
    if (!*found) {
        complain(fmt::format("there is no task '{}'", options.id));
        return exit_code::failure;
    }
    if (options.format == "json") {
        fmt::print("{}\n", to_json(**found));
    } else {
        print_task(**found);
    }
    return exit_code::success;
}

}  // namespace

void add_task_ls(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<task_ls_options>();
    CLI::App* words = to.add_subcommand("ls", "List tasks, the newest first");
    words->add_option("--queue", options->queue, "Only of this queue")->type_name("NAME");
    add_choice(*words, "--state", options->state,
               {"any", "pending", "running", "publishing", "finished", "dead", "cancelled"},
               "Only in this state")
        ->type_name("STATE");
    add_whole(*words, "--limit", options->limit, {1, 10000}, "So many at most");
    add_task_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast task ls --queue mail --state dead\n"
        "\n"
        "With --format json, one object per line.\n"
        "Exit codes: 0 done, also if there are none; 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return list_tasks(*options); }});
}

void add_task_show(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<task_options>();
    CLI::App* words = to.add_subcommand("show", "Show one task");
    words->add_option("ID", options->id, "Which")->required();
    add_task_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast task show 17 --format json\n"
        "Exit codes: 0 done, 1 there is none, 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return show_task(*options); }});
}

}  // namespace holdfast::app

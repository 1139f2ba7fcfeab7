// SPDX-License-Identifier: Apache-2.0
//
// holdfast task submit: puts a task into its queue, and prints its id.
#include "commands/task/task.hpp"
#include "error_output.hpp"
#include "option_types.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

namespace holdfast::app {
namespace {

struct submit_options : task_options {
    task_submission task;
    int retries = 3;
    std::string grows = "fixed";
    std::string conflict = "drop";
};

exit_code submit(const submit_options& options) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    task_submission task = options.task;
    task.id = options.id;
    task.retry.retries = static_cast<std::uint32_t>(options.retries);
    if (options.grows == "exponential") task.retry.grows = retry_policy::growth::exponential;
    if (options.conflict == "replace") task.on_conflict = unique_conflict::replace;
    if (options.conflict == "reschedule") task.on_conflict = unique_conflict::reschedule;
    const auto sent = tasks->submit(task);
    if (!sent) return complain(sent.error());
    if (options.format == "json") {
        fmt::print(R"({{"id":"{}","created":{}}})"
                   "\n",
                   sent->id, sent->created);
    } else {
        fmt::print("{}\n", sent->id);
        if (!sent->created) complain("there is such a task already: nothing new was submitted");
    }
    return exit_code::success;
}

}  // namespace

void add_task_submit(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<submit_options>();
    CLI::App* words = to.add_subcommand("submit", "Submit a task, and print its id");
    words->add_option("ARGUMENTS", options->task.arguments, "What the worker gets");
    words->add_option("--queue", options->task.queue, "Its queue")
        ->type_name("NAME")
        ->default_str(options->task.queue);
    words->add_option("--id", options->id, "Its id; one is drawn otherwise")->type_name("ID");
    add_whole(*words, "--priority", options->task.priority, {-100, 100}, "Larger first");
    add_span(*words, "--delay", options->task.delay, "Not before this time has passed");
    add_whole(*words, "--retries", options->retries, {0, 1000}, "After failures");
    add_span(*words, "--retry-pause", options->task.retry.pause, "Between them");
    add_choice(*words, "--backoff", options->grows, {"fixed", "exponential"}, "How it grows");
    words->add_option("--unique", options->task.unique_key, "One task with this key at a time")
        ->type_name("KEY");
    add_choice(*words, "--on-conflict", options->conflict, {"drop", "replace", "reschedule"},
               "With --unique");
    add_task_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast task submit --queue mail --delay 5m \"order 42\"\n"
        "Exit codes: 0 submitted, or there already; 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return submit(*options); }});
}

}  // namespace holdfast::app

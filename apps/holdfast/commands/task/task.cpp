// SPDX-License-Identifier: Apache-2.0
//
// holdfast task: submits tasks, looks at them, ends them.
#include "commands/task/task.hpp"

#include "core/json_text.hpp"
#include "option_types.hpp"
#include "printable.hpp"
#include "time_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace holdfast::app {

void add_task(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("task", "Exclusive tasks; beside it: worker, video");
    words->footer(
        "Examples:\n"
        "  holdfast task submit --queue mail \"order 42\"   # prints its id\n"
        "  holdfast task ls --state dead\n"
        "  holdfast worker --queue mail -- ./send.sh {}   # runs them\n");
    add_task_submit(*words, all);
    add_task_ls(*words, all);
    add_task_show(*words, all);
    add_task_cancel(*words, all);
    add_task_retry(*words, all);
    add_task_wait(*words, all);
    add_task_watch(*words, all);
    add_task_queue(*words, all);
    add_task_schedule(*words, all);
}

void add_task_options(CLI::App& to, task_options& options) {
    add_choice(to, "--format", options.format, {"text", "json"}, "The output format");
    add_engine_options(to, options.engine);
}

result<task_store> open_task_store(const engine_options& options) {
    const auto url = chosen_engine(options);
    if (!url) return std::unexpected(url.error());
    return open_tasks(*url);
}

std::string to_json(const task_info& task) {
    detail::json_object out;
    const auto moment = [&](std::string_view name, wall_time when) {
        if (when.time_since_epoch().count() > 0) out.put(name, show_moment(when));
    };
    out.put("id", task.id);
    out.put("queue", task.queue);
    out.put("state", to_string(task.state));
    out.put("arguments", task.arguments);
    out.put("priority", task.priority);
    out.put("fence", task.fence.value);
    out.put("attempt", task.attempt);
    out.put("failures", task.failures);
    out.put("crashes", task.crashes);
    out.put("progress", task.progress);
    const auto text = [&](std::string_view name, const std::string& value) {
        if (!value.empty()) out.put(name, value);
    };
    text("note", task.note);
    text("owner", task.owner);
    text("result", task.result);
    text("error", task.error);
    text("output", task.output);
    text("unique_key", task.unique_key);
    if (task.cancel_requested) out.put("cancel_requested", true);
    moment("run_at", task.run_at);
    moment("created", task.created);
    moment("started", task.started);
    moment("ended", task.ended);
    return out.text();
}

std::string progress_bar(double fraction, int width) {
    const double part = std::clamp(fraction, 0.0, 1.0);
    const int room = std::max(4, width - 9);
    const int full = static_cast<int>(std::lround(part * room));
    return fmt::format("[{:#<{}}{:.<{}}] {:>3.0f} %", "", full, "", room - full, part * 100);
}

std::string show_state(const task_info& task) {
    switch (task.state) {
        case task_state::running:
            return fmt::format("running, {:.0f} %{}", task.progress * 100,
                               task.note.empty() ? "" : ": " + printable(task.note));
        case task_state::dead: return fmt::format("dead: {}", printable(task.error));
        case task_state::pending:
            if (!task.error.empty()) {
                return fmt::format("pending, failed before: {}", printable(task.error));
            }
            break;
        default: break;
    }
    return std::string(to_string(task.state));
}

}  // namespace holdfast::app

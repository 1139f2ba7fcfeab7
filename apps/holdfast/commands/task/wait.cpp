// SPDX-License-Identifier: Apache-2.0
//
// holdfast task wait, watch: until a task has ended, silently or with its progress.
#include "commands/task/task.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "printable.hpp"
#include "terminal.hpp"

#include <holdfast/mutex.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

struct task_wait_options : task_options {
    duration timeout = forever;
};

exit_code code_of(const task_info& task) {
    if (task.state == task_state::finished) return exit_code::success;
    if (task.state == task_state::dead) complain(fmt::format("it is dead: {}", task.error));
    if (task.state == task_state::cancelled) complain("it was cancelled");
    return exit_code::failure;
}

/// Draws over its own line on a terminal; elsewhere, a line for each change.
class progress_view {
public:
    explicit progress_view(std::string format)
        : format_(std::move(format)), screen_(terminal::of(STDOUT_FILENO)) {}

    void show(const task_info& task) {
        std::string text = line(task);
        if (text == last_) return;
        if (screen_.interactive() && format_ == "text") {
            fmt::print("\r\x1b[K{}", text);
            drawn_ = true;
        } else {
            fmt::print("{}\n", text);
        }
        std::fflush(stdout);
        last_ = std::move(text);
    }
    ~progress_view() {
        if (drawn_) fmt::print("\n");
    }
    progress_view(const progress_view&) = delete;
    progress_view& operator=(const progress_view&) = delete;

private:
    std::string line(const task_info& task) const {
        if (format_ == "json") return to_json(task);
        if (task.state != task_state::running) {
            return fmt::format("{}: {}", task.id, show_state(task));
        }
        const int room = screen_.interactive() ? std::min(40, screen_.width() / 2) : 30;
        return fmt::format("{} {} {}", task.id, progress_bar(task.progress, room),
                           printable(task.note));
    }

    const std::string format_;
    const terminal screen_;
    std::string last_;
    bool drawn_ = false;
};

exit_code wait_for_task(const task_wait_options& options, progress_view* view) {
    auto tasks = open_task_store(options.engine);
    if (!tasks) return complain(tasks.error());
    clock& time = system_clock();
    const time_point give_up =
        options.timeout == forever ? time_point::max() : time.now() + options.timeout;
    for (duration nap = 10ms;; nap = std::min<duration>(2 * nap, 200ms)) {
        const auto found = tasks->find(options.id);
        if (!found) return complain(found.error());
        if (!*found) {
            complain(fmt::format("there is no task '{}'", options.id));
            return exit_code::failure;
        }
        if (view != nullptr) view->show(**found);
        if (has_ended((*found)->state)) {
            if (view == nullptr && options.format == "json") fmt::print("{}\n", to_json(**found));
            return code_of(**found);
        }
        if (time.now() >= give_up) {
            complain(fmt::format("'{}' has not ended yet: {}", options.id, show_state(**found)));
            return exit_code::busy;
        }
        ::poll(nullptr, 0,
               static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(nap).count()));
    }
}

}  // namespace

void add_task_wait(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<task_wait_options>();
    CLI::App* words = to.add_subcommand("wait", "Wait until a task has ended");
    words->add_option("ID", options->id, "Which")->required();
    add_wait(*words, "--timeout", options->timeout, "How long, or forever");
    add_task_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast task wait 17 --timeout 10m && echo done\n"
        "Exit codes: 0 finished, 1 dead, cancelled or none; 2 misuse, 3 not yet, 5 no\n"
        "answer\n");
    all.push_back({.words = words, .run = [options] { return wait_for_task(*options, nullptr); }});
}

void add_task_watch(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<task_wait_options>();
    CLI::App* words = to.add_subcommand("watch", "Show a task's progress until it has ended");
    words->add_option("ID", options->id, "Which")->required();
    add_wait(*words, "--timeout", options->timeout, "How long, or forever");
    add_task_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast task watch 17\n"
        "\n"
        "A bar on a terminal; elsewhere, a line for each change.\n"
        "Exit codes: as of 'holdfast task wait'\n");
    all.push_back({.words = words, .run = [options] {
                       progress_view view(options->format);
                       return wait_for_task(*options, &view);
                   }});
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "command_line.hpp"
#include "engine_choice.hpp"

#include <holdfast/tasks/task_store.hpp>

#include <string>

/// What people do with tasks; each is a file of its own.
namespace holdfast::app {

void add_task_submit(CLI::App& to, command_list& all);
void add_task_ls(CLI::App& to, command_list& all);
void add_task_show(CLI::App& to, command_list& all);
void add_task_cancel(CLI::App& to, command_list& all);
void add_task_retry(CLI::App& to, command_list& all);
void add_task_wait(CLI::App& to, command_list& all);
void add_task_watch(CLI::App& to, command_list& all);
void add_task_queue(CLI::App& to, command_list& all);
void add_task_schedule(CLI::App& to, command_list& all);

/// What most of them have in common.
struct task_options {
    engine_options engine;
    std::string id;
    std::string format = "text";
};

/// --format, --engine, --engine-file.
void add_task_options(CLI::App& to, task_options& options);

/// Opens the tasks of the chosen engine. Errors: as chosen_engine() and open_tasks().
[[nodiscard]] result<task_store> open_task_store(const engine_options& options);

/// One object. Requires nothing of the terminal: texts of others are escaped.
[[nodiscard]] std::string to_json(const task_info& task);

/// "[#####.....]  50 %" of that many columns.
[[nodiscard]] std::string progress_bar(double fraction, int width);

/// What happens to it now, in a few words: "running, 40 %", "dead: no disk".
[[nodiscard]] std::string show_state(const task_info& task);

}  // namespace holdfast::app

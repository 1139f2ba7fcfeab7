// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/worker/task_command.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <string>
#include <vector>

/// A handler that runs a program for each task.
namespace holdfast::app {

struct command_settings {
    std::vector<std::string> words;  ///< "{}" stands for the task's arguments.
    std::string output = {};         ///< Each task's files are published in OUTPUT/ID; empty: none.
    duration grace = std::chrono::seconds(10);
};

/// The program has the task in its environment: HOLDFAST_TASK, HOLDFAST_ARGUMENTS, HOLDFAST_FENCE,
/// HOLDFAST_ATTEMPT, HOLDFAST_DEADLINE (Unix seconds), HOLDFAST_OUTPUT. It may write lines to the
/// descriptor HOLDFAST_PROGRESS_FD: "40 note" for a progress of 40 %, "result text" for its result.
/// It succeeds with 0; with 65 (EX_DATAERR) no retry would help. `ground` must outlive it.
[[nodiscard]] task_handler make_command_handler(command_settings settings, command_ground& ground);

/// "it ended with 3", "it was killed by SIGKILL".
[[nodiscard]] std::string show_ending_of(const command_ground::ending& end);

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/child.hpp"
#include "process/guardian.hpp"
#include "process/signal_inbox.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

/// Runs a command for a task: it lives no longer than the task's lease.
///
/// When the stop token fires, the command's process group gets SIGTERM, and SIGKILL when the grace
/// is over. A guardian kills the group if the worker is killed or does not run any more while the
/// lease runs out. What the command leaves behind in its group is killed when it ends.
namespace holdfast::app {

/// What the commands of a worker share. One guardian for each command that runs at a time.
class command_ground {
public:
    /// Requires: this is the only thread. Errors: unavailable.
    [[nodiscard]] static result<command_ground> open(signal_inbox& signals, int at_a_time);

    struct plan {
        std::vector<std::string> words;
        std::vector<std::pair<std::string, std::string>> variables = {};
        duration grace = std::chrono::seconds(10);
        /// Called with each line that it writes to the descriptor $HOLDFAST_PROGRESS_FD. In a word
        /// of the command, "{progress_fd}" stands for its number.
        std::function<void(std::string_view)> on_line = {};
    };
    struct ending {
        int code = 0;          ///< The command's, or 128 + its signal.
        int not_started = 0;   ///< errno, if there was no command to run.
        bool stopped = false;  ///< We ended it.
    };

    /// Blocks: until the command and its group are gone.
    [[nodiscard]] ending run(plan what, task_context& task);

private:
    explicit command_ground(signal_inbox& signals)
        : signals_(&signals), mutex_(std::make_unique<std::mutex>()) {}
    [[nodiscard]] guardian take_guardian();
    void put_back(guardian one);

    signal_inbox* signals_;
    std::unique_ptr<std::mutex> mutex_;
    std::vector<guardian> guardians_;
};

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/load/viewer_swarm.hpp"

#include <holdfast/error.hpp>

#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

/// A process of our own that is loaded: this program as a server, or the minimal loop.
namespace holdfast::app {

class load_process {
public:
    /// This program with these words; its first line of output is its URL.
    /// Errors: unavailable.
    [[nodiscard]] static result<load_process> serve(const std::vector<std::string>& words);

    /// A process that runs `work`, which writes its port to the descriptor that it is given.
    /// Requires: this process has no other thread.
    [[nodiscard]] static result<load_process> fork_to(const std::function<void(int tell)>& work);

    load_process(load_process&& other) noexcept;
    load_process& operator=(load_process&&) = delete;
    /// Ends it.
    ~load_process();

    [[nodiscard]] const swarm_target& target() const noexcept { return target_; }
    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
    load_process(pid_t pid, swarm_target target) : pid_(pid), target_(std::move(target)) {}

    pid_t pid_;
    swarm_target target_;
};

/// What a process has in memory, in KiB. Nothing if it cannot be read.
[[nodiscard]] std::optional<double> resident_kib(pid_t pid);

/// A value of /metrics. Nothing if it is not there.
[[nodiscard]] std::optional<double> metric(const swarm_target& of, std::string_view name);

}  // namespace holdfast::app

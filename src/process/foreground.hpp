// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/descriptor.hpp"

#include <sys/types.h>

/// Who may use the terminal: us, or the command that we run.
///
/// The command is in a process group of its own, so a terminal must be told that this group is in
/// front now; otherwise the command would be stopped when it reads a key, and Ctrl-C would not
/// reach it. It is given the terminal at once if our own input is one; if we stand in a pipeline,
/// only when it asks, because the other programs of the pipeline may need it more.
namespace holdfast::app {

class foreground {
public:
    /// Finds the terminal, if there is one.
    foreground();

    /// Is there a terminal, and so a shell that stops and continues us?
    [[nodiscard]] bool exists() const noexcept { return terminal_.is_open(); }

    /// Are we in front?
    [[nodiscard]] bool is_ours() const noexcept;

    /// Puts the group in front, if we are. Requires: SIGTTOU is blocked.
    void give(pid_t group) const noexcept;

    /// Puts us in front again, if the group is.
    void take_back(pid_t group) const noexcept;

private:
    descriptor terminal_;
};

}  // namespace holdfast::app

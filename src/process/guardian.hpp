// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/descriptor.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <sys/types.h>

/// A small process that ends the command's group when `holdfast run` cannot do it itself.
///
/// Two things must not leave a command running that believes it holds: kill -9 of `holdfast`, and a
/// `holdfast` that does not run any more (SIGSTOP, a debugger, a machine that was suspended) while
/// its lease runs out. So the guardian has one end of a pipe whose other end only `holdfast` has,
/// and knows two numbers: the process group, and until when the lease may be believed. When the
/// pipe closes, or that time comes and no later one was told, it kills the group.
///
/// It is in a session of its own, so that what kills `holdfast` by its process group or its
/// terminal does not reach it; it blocks every signal that can be blocked. It is forked before
/// `holdfast` has a second thread, and keeps nothing open but the pipe and a timer on
/// CLOCK_BOOTTIME, which also fires for time that was slept through.
///
/// The command itself has a parent-death signal too, for the case that someone kills the guardian
/// as well. What neither can end is what leaves the group (a daemon, by setsid).
namespace holdfast::app {

class guardian {
public:
    /// Requires: this is the only thread. Errors: unavailable (no more processes or files).
    [[nodiscard]] static result<guardian> start();
    guardian(guardian&&) noexcept = default;
    guardian& operator=(guardian&&) = delete;

    /// Dismisses it, and kills the group if it still watches one.
    ~guardian();

    /// From now on it answers for this process group; 0 for none any more.
    void watch(pid_t group, time_point valid_until);

    /// The lease was renewed.
    void extend(time_point valid_until);

private:
    guardian(descriptor line, pid_t pid) noexcept : line_(std::move(line)), pid_(pid) {}
    void tell() const;

    descriptor line_;
    pid_t pid_;
    pid_t group_ = 0;
    time_point until_{};
};

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "process/descriptor.hpp"

#include <holdfast/error.hpp>

#include <csignal>
#include <optional>

/// The signals that `holdfast run` is sent, as something to read instead of something that
/// interrupts.
///
/// They are blocked before the first thread is started, so every thread inherits that, and no
/// handler of ours ever runs: there is no moment between fork and exec, or between a look and a
/// wait, at which one could be missed. The command gets the mask and the dispositions that we were
/// started with: under nohup it ignores SIGHUP as it would without us.
namespace holdfast::app {

class signal_inbox {
public:
    /// Requires: this is the only thread.
    [[nodiscard]] static result<signal_inbox> open();

    /// Readable when next() has something.
    [[nodiscard]] int readable() const noexcept { return inbox_.get(); }

    /// The next signal that came; nothing if there is none.
    [[nodiscard]] std::optional<int> next();

    /// For a child of fork(), before exec: everything as we were given it. Only system calls.
    void restore() const noexcept;

    /// Ends this process by the signal, so that whoever started it sees that.
    [[noreturn]] void die_of(int signal) const noexcept;

private:
    signal_inbox() = default;

    descriptor inbox_;
    sigset_t mask_{};
    struct sigaction child_ended_{};
};

/// Does it ask a program to end?
[[nodiscard]] bool asks_to_end(int signal) noexcept;

/// "SIGTERM", or its number.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace holdfast::app

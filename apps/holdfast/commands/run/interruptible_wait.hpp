// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/run/run_options.hpp"
#include "process/signal_inbox.hpp"

#include <holdfast/client.hpp>

#include <optional>

/// Waiting before the command runs, with an ear for signals: Ctrl-C must end a wait in line at
/// once, and leave nothing behind.
namespace holdfast::app {

class patience {
public:
    explicit patience(signal_inbox& signals) noexcept : signals_(signals) {}

    /// Acquires what the options say. Errors: as acquire(); cancelled, if a signal ended the wait.
    [[nodiscard]] result<lease> acquire(client& on, const run_options& options);

    /// Sleeps; answers false if a signal ended that.
    [[nodiscard]] bool sleep(duration length);

    /// The signal that asked us to end, if one did.
    [[nodiscard]] std::optional<int> asked_to_end() const noexcept { return asked_; }

private:
    /// Waits for the other descriptor to be readable (-1: none), or for a signal to end it.
    enum class outcome { ready, time_over, asked_to_end };
    [[nodiscard]] outcome wait(int other, time_point until);

    signal_inbox& signals_;
    std::optional<int> asked_;
};

}  // namespace holdfast::app

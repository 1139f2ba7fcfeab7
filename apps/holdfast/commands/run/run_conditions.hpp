// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/run/run_options.hpp"
#include "process/signal_inbox.hpp"

#include <holdfast/client.hpp>
#include <holdfast/once.hpp>

#include <functional>
#include <optional>
#include <string>

/// What else may keep a command from running: --once, --cooldown and --rate.
///
/// They are asked when the lease is held, so nothing is used up by someone who finds the name busy.
/// A cooldown or a rate that says "later" is waited for as long as --wait allows. They share their
/// keys with `holdfast once` and `holdfast limit`, by the same name.
namespace holdfast::app {

/// Sleeps, unless something says that it should end; answers whether it slept.
using sleeper = std::function<bool(duration)>;

class gates {
public:
    gates(const client& on, const run_options& options);

    /// May it run? Errors: busy (the detail says until when); cancelled, if the sleep was broken
    /// off; the engine's trouble; unsupported.
    [[nodiscard]] result<void> pass(const sleeper& sleep);

    /// The command did not succeed: another one may be first.
    void forget();

private:
    [[nodiscard]] result<void> pass_once();
    template <class Take>
    [[nodiscard]] result<void> pass_in_time(std::string_view what, Take take, const sleeper& sleep);

    const run_options& options_;
    command_access place_;
    time_point give_up_;
    std::optional<once> marks_;
    std::optional<once_claim> claim_;
};

}  // namespace holdfast::app

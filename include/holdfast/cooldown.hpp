// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/decision.hpp>
#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <string>
#include <string_view>

/// At most one in a window; a refusal contains the time to wait.
///
/// Example:
///
///     holdfast::cooldown rooms(hf, {.window = 500ms});
///     auto answer = rooms.take("video_123");
///     if (answer && !answer->allowed) send_later(answer->retry_after);
namespace holdfast {

struct cooldown_options {
    /// From 1 ms; rounded up to whole milliseconds. At most 366 days.
    duration window = std::chrono::seconds(1);

    /// Before every key: `room:cooldown:` and the key `video_123` make `room:cooldown:video_123`.
    std::string prefix = "cooldown:";

    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

/// Thread safety: all members may be called from any thread.
class cooldown {
public:
    /// Does no I/O.
    explicit cooldown(command_access where, cooldown_options options = {});

    /// Starts a window, unless one is running. A refusal changes nothing. `retry_after` is `never`
    /// for a key that another program set without an expiry.
    /// Errors: invalid_argument (key or options; prefix and key are a key of Holdfast's own),
    /// unsupported, corrupt (a key of another type, a once's or a lock's; it is not changed);
    /// unavailable, timed_out: not started; outcome_unknown: perhaps started.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<decision> take(std::string_view key);

    /// Ends a window early, whoever started it.
    /// Errors, Blocks: as take().
    [[nodiscard]] result<void> clear(std::string_view key);

private:
    command_access where_;
    cooldown_options options_;
};

}  // namespace holdfast

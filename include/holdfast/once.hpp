// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The first caller within a window, and only that one.
///
/// For messages that are delivered twice, requests that are retried, buttons that are pressed
/// again. A later caller gets what the first one recorded, so a retry can return the original
/// answer.
///
/// Example:
///
///     holdfast::once processed(hf, {.window = 60s});
///     auto mine = processed.claim("room/7/message/42");
///     if (mine && mine->first) {
///         auto offset = deliver(message);
///         auto kept = processed.record(*mine, offset);
///     } else if (mine && mine->recorded) {
///         answer(*mine->recorded);
///     }
namespace holdfast {

struct once_options {
    /// How long the first caller's mark stays. 1 ms to 366 days.
    duration window = std::chrono::seconds(60);

    /// How long a mark without a record stays. With the whole window (zero stands for it) nobody
    /// repeats the work of a first caller that died: at most once. With less, somebody else becomes
    /// first after that: at least once, if the first caller records when it is done.
    duration unrecorded = duration::zero();

    /// Before every key: `msg:processed:` and the key `room:id` make `msg:processed:room:id`.
    std::string prefix = "once:";

    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

/// The result of a claim. A first caller passes it to record() and forget().
struct once_claim {
    bool first = false;
    /// The first caller's record. Empty if there is none (yet), or if the mark is another
    /// program's.
    std::optional<std::string> recorded{};
    std::string key{};
    std::string token{};  ///< Only for the first caller; empty for the others.
};

/// Thread safety: all members may be called from any thread.
class once {
public:
    static constexpr std::size_t max_record_bytes = std::size_t{64} << 10;
    static constexpr std::size_t max_batch = 10'000;

    /// Does no I/O.
    explicit once(command_access where, once_options options = {});

    /// Returns whether this is the first caller. After a lost reply it asks again by itself.
    /// Errors: invalid_argument (key or options; prefix and key are a key of Holdfast's own),
    /// unsupported, corrupt (a key of another type, a cooldown's or a lock's; it is not changed);
    /// unavailable, timed_out: not claimed; outcome_unknown: perhaps, and nobody may be first until
    /// the window is over.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<once_claim> claim(std::string_view key);

    /// The same for many keys, in one trip; each has its own outcome. Of a duplicate key, one is
    /// first.
    [[nodiscard]] std::vector<result<once_claim>> claim(std::span<const std::string_view> keys);

    /// Stores `text` for later callers, for the whole window from now.
    /// Errors: as claim(); invalid_argument (the claim was not first, or the text is too long);
    /// lease_lost: the window is over, and somebody else may have been first meanwhile.
    [[nodiscard]] result<void> record(const once_claim& claim, std::string_view text);

    /// The first caller failed: the next caller is first.
    /// Errors: as record().
    [[nodiscard]] result<void> forget(const once_claim& claim);

private:
    [[nodiscard]] result<void> ready() const;
    [[nodiscard]] result<void> owned(const once_claim& claim) const;

    command_access where_;
    once_options options_;
};

}  // namespace holdfast

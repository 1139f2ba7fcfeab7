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
/// again. Who comes later learns what the first caller recorded, so a retry can answer what the
/// original answered:
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

    /// How long a mark stays that nothing was recorded for. With the whole window (zero says so) a
    /// first caller that dies is never repeated: at most once. With less, somebody else becomes
    /// first after that: at least once, if the first caller records when it is done.
    duration unrecorded = duration::zero();

    /// Before every key: `msg:processed:` and the key `room:id` make `msg:processed:room:id`.
    std::string prefix = "once:";

    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

/// What a caller learned. If it was first, the claim is what it records and forgets by.
struct once_claim {
    bool first = false;
    /// What the first caller recorded. Empty if it has not (yet), or if the mark is another
    /// program's.
    std::optional<std::string> recorded{};
    std::string key{};
    std::string token{};  ///< Of the first caller alone; empty for the others.
};

/// Thread safety: all members may be called from any thread.
class once {
public:
    static constexpr std::size_t max_record_bytes = std::size_t{64} << 10;
    static constexpr std::size_t max_batch = 10'000;

    /// Does no I/O.
    explicit once(command_access where, once_options options = {});

    /// Am I the first? Safe to repeat inside: a lost answer is asked for again.
    /// Errors: invalid_argument (key or options; prefix and key are a key of Holdfast's own),
    /// unsupported, corrupt (a key of another type, a cooldown's or a lock's; it stays as it is);
    /// unavailable, timed_out: not claimed; outcome_unknown: perhaps, and nobody may be first until
    /// the window is over.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<once_claim> claim(std::string_view key);

    /// The same for many keys, in one trip; each has its own outcome. Of a key that comes twice,
    /// one is first.
    [[nodiscard]] std::vector<result<once_claim>> claim(std::span<const std::string_view> keys);

    /// Keeps `text` for those who come later, for the whole window from now.
    /// Errors: as claim(); invalid_argument (the claim was not first, or the text is too long);
    /// lease_lost: the window is over, and somebody else may have been first meanwhile.
    [[nodiscard]] result<void> record(const once_claim& claim, std::string_view text);

    /// The first caller failed: lets the next one be first.
    /// Errors: as record().
    [[nodiscard]] result<void> forget(const once_claim& claim);

private:
    [[nodiscard]] result<void> ready() const;
    [[nodiscard]] result<void> owned(const once_claim& claim) const;

    command_access where_;
    once_options options_;
};

}  // namespace holdfast

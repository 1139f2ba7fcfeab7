// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_access.hpp>
#include <holdfast/error.hpp>
#include <holdfast/mutex.hpp>

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

/// std::latch across machines: waits until a number of arrivals has been counted down, once.
///
/// The first call creates it; all others must pass the same count. It does not start over by
/// itself: use another name for the next round, or reset() it. A latch that nobody touches (by an
/// arrival or a wait) is deleted after `life`, counted down or not.
///
/// A message wakes the waiters. On an engine without messages (sqlite:) they poll: first after a
/// millisecond, then after a quarter of the time they have waited, at most 50 ms.
///
/// Example:
///
///     holdfast::latch ready(hf, "release-7/warm", 3);
///     auto left = ready.count_down();         // each of three servers, when it is warm
///     auto all = ready.wait({.wait = 2min});  // anyone who must not begin before
namespace holdfast {

struct latch_options {
    /// How long it is kept after the last touch. Long enough for the slowest to arrive; waiting
    /// keeps it alive. 1 ms to 366 days.
    duration life = std::chrono::hours(1);

    /// Before every name: `latch:` and the name `warm` make the key `latch:{warm}:4:latch`.
    std::string prefix = "latch:";

    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

struct latch_wait {
    /// How long to wait; zero checks once.
    duration wait = forever;

    /// Ends the wait early, with `cancelled`.
    std::stop_token stop = {};
};

/// Thread safety: all members may be called from any thread. A copy is the same latch.
class latch {
public:
    static constexpr std::uint32_t max_count = 100'000;

    /// Does no I/O; the first call reports invalid arguments. `count` is 1 to max_count.
    latch(command_access where, std::string_view name, std::uint32_t count,
          latch_options options = {});

    /// Counts n arrivals and returns how many are still missing. Each call counts exactly once,
    /// even if its reply was lost and it had to ask again.
    /// Errors: invalid_argument (name, options; the latch was made with another count; n is 0 or
    /// more than are missing: nothing was counted), unsupported, corrupt (a key of another kind);
    /// unavailable, timed_out: not counted; outcome_unknown: perhaps counted.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<std::uint32_t> count_down(std::uint32_t n = 1);

    /// Returns whether all have arrived. Errors, Blocks: as count_down().
    [[nodiscard]] result<bool> try_wait();

    /// Waits until all have arrived, also while the engine is down.
    /// Errors: timed_out; cancelled, by the stop token, or because the latch was reset, removed or
    /// forgotten before all had arrived; invalid_argument, unsupported, corrupt, denied as
    /// count_down(). If the engine was down when the time ran out, its own error.
    /// Blocks: for at most `wait`, plus one `timeout`. Cancellation: by the stop token.
    [[nodiscard]] result<void> wait(const latch_wait& how = {});

    /// Counts n down, then waits. If the wait fails, the arrivals stay counted.
    [[nodiscard]] result<void> arrive_and_wait(std::uint32_t n = 1, const latch_wait& how = {});

    /// Starts a new round, with this latch's count: all are missing again, whatever has arrived.
    /// The count may differ from the one before. Waiters of the round before get `cancelled`, or
    /// success if that round had opened. An arrival whose reply was lost and that is repeated after
    /// a reset counts in the new round.
    /// Errors, Blocks: as count_down(), but for the count.
    [[nodiscard]] result<void> reset();

    /// Deletes it; the next call creates another one. Returns whether there was one. Waiters get
    /// the same as by reset(); for that, a remnant stays in the engine for ten seconds.
    /// Errors, Blocks: as reset().
    [[nodiscard]] result<bool> remove();

private:
    /// What a touch answers.
    struct standing {
        std::uint32_t missing = 0;
        std::string round;
    };
    enum class keep : std::uint8_t { prolong, as_it_is };

    [[nodiscard]] result<void> ready() const;
    /// `round`: the one that is waited for, empty for whichever there is.
    [[nodiscard]] result<standing> touch(std::uint32_t n, std::string_view round, keep life);
    [[nodiscard]] result<standing> arrive(std::uint32_t n);
    [[nodiscard]] result<void> wait_for(std::string round, const latch_wait& how);
    [[nodiscard]] result<bool> end_round(std::uint32_t next_count);
    [[nodiscard]] std::string channel() const;

    command_access where_;
    std::string name_;
    std::string key_;
    std::uint32_t count_;
    latch_options options_;
};

}  // namespace holdfast

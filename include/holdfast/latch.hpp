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
///     holdfast::latch ready(hf, "release-7/warm", 3);
///     auto left = ready.count_down();             // each of three servers, when it is warm
///     auto all = ready.wait({.wait = 2min});      // whoever must not begin before
///
/// The first that touches it makes it; all others must name the same count. It does not start over
/// by itself: give the next round a name of its own, or reset() it. Without a touch (an arrival, or
/// somebody's look) it is forgotten after `life`, counted down or not.
///
/// Whoever waits is woken by a message. On an engine without messages (sqlite:) it looks instead:
/// first after a millisecond, then after a quarter of the time it has waited, at most 50 ms.
namespace holdfast {

struct latch_options {
    /// How long it is kept after the last touch. Long enough for the slowest to come; waiting
    /// keeps it alive. 1 ms to 366 days.
    duration life = std::chrono::hours(1);

    /// Before every name: `latch:` and the name `warm` make the key `latch:{warm}:4:latch`.
    std::string prefix = "latch:";

    /// How long the engine may take to answer.
    duration timeout = std::chrono::seconds(1);
};

struct latch_wait {
    /// How long to wait; zero looks once.
    duration wait = forever;

    /// Ends the wait early, with `cancelled`.
    std::stop_token stop = {};
};

/// Thread safety: all members may be called from any thread. Moved or copied, it is the same latch.
class latch {
public:
    static constexpr std::uint32_t max_count = 100'000;

    /// Does no I/O; bad arguments are told by the first call. `count` is 1 to max_count.
    latch(command_access where, std::string_view name, std::uint32_t count,
          latch_options options = {});

    /// Counts n arrivals and answers how many are still missing. Each call counts exactly once,
    /// also if its answer was lost and had to be asked for again.
    /// Errors: invalid_argument (name, options; the latch was made with another count; n is 0 or
    /// more than are missing: nothing was counted), unsupported, corrupt (a key of another kind);
    /// unavailable, timed_out: not counted; outcome_unknown: perhaps counted.
    /// Blocks: one trip, at most `timeout`.
    [[nodiscard]] result<std::uint32_t> count_down(std::uint32_t n = 1);

    /// Have all arrived? Errors, Blocks: as count_down().
    [[nodiscard]] result<bool> try_wait();

    /// Waits until all have arrived. An engine that is away is waited for, too.
    /// Errors: timed_out; cancelled, by the stop token, or because the latch was reset, removed or
    /// forgotten before all had arrived; invalid_argument, unsupported, corrupt, denied as
    /// count_down(). If the engine was away when the time ran out, its own error.
    /// Blocks: for at most `wait`, plus one `timeout`. Cancellation: by the stop token.
    [[nodiscard]] result<void> wait(const latch_wait& how = {});

    /// Counts n down, then waits. If that was counted and the wait failed, it stays counted.
    [[nodiscard]] result<void> arrive_and_wait(std::uint32_t n = 1, const latch_wait& how = {});

    /// Begins a new round, with this latch's count: all are missing again, whatever has arrived.
    /// The count may be another one than before. Whoever waits for the round before is told:
    /// `cancelled`, or success if that round had opened. An arrival whose answer was lost and that
    /// is asked for again after a reset counts in the new round.
    /// Errors, Blocks: as count_down(), but for the count.
    [[nodiscard]] result<void> reset();

    /// Deletes it; the next touch makes another one. Answers whether there was one. Whoever waits
    /// is told as by reset(); for that, what is left of it stays in the engine for ten seconds.
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

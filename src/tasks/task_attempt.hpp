// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tasks/task_table.hpp"

#include <holdfast/clock.hpp>

#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

/// One attempt at one task, from its claim to the write that ends it: what a worker decides.
///
/// It has no thread and does not sleep: each call gets the time and says when it wants to be called
/// again. So a runner drives it with threads, and a simulation in virtual time with crashes, pauses
/// and a database that does not answer.
///
/// An attempt treats its lease as expired a little before the database does (1 % and 2 ms), counted
/// from before the request that was last answered.
namespace holdfast::detail {

struct attempt_settings {
    duration lease = std::chrono::seconds(30);
    duration max_hold = std::chrono::hours(1);
    std::string owner = {};
};

/// Why the stop token fired.
enum class stop_cause : std::uint8_t { none, lost, cancelled, too_long, worker_stops };

/// How the handler ended.
struct handler_end {
    std::optional<error> why = {};  ///< Nothing: it succeeded.
    std::string said = {};
};

/// How the attempt ended.
struct attempt_end {
    enum class kind : std::uint8_t {
        finished,
        failed,      ///< The row says so; `state` is what it is now.
        given_back,  ///< The row is pending, or cancelled.
        lost,        ///< Nothing of ours was written, or nobody knows.
    };
    kind what = kind::lost;
    task_state state = task_state::running;
    std::string reason = {};
};

/// Thread safety: all members may be called from any thread.
class task_attempt {
public:
    /// Claims. Nothing: no row fitted. The table outlives it.
    [[nodiscard]] static result<std::unique_ptr<task_attempt>> claim(task_table& table,
                                                                     std::string_view id,
                                                                     const attempt_settings& how);
    task_attempt(task_table& table, task_info row, const attempt_settings& how, time_point sent);

    [[nodiscard]] const task_info& row() const noexcept { return row_; }
    [[nodiscard]] std::stop_token stop() const noexcept { return stop_.get_token(); }
    [[nodiscard]] bool valid(time_point now) const;
    /// Until when the lease may be believed; in the past if it is lost.
    [[nodiscard]] time_point valid_until() const;
    [[nodiscard]] time_point hold_until() const noexcept { return hold_until_; }

    void note_progress(double fraction, std::string_view note);
    [[nodiscard]] result<std::string> output(std::string_view place);

    /// While the handler runs: fires the stop token when the lease is over, or max_hold has passed.
    /// Answers when to call it again. Asks nobody.
    [[nodiscard]] time_point expire(time_point now);

    /// The same, and renews when it is time: also fires if the row was taken, or it is cancelled.
    /// Blocks: one request to the database.
    [[nodiscard]] time_point keep(time_point now);

    /// Fires the stop token.
    void ask_to_stop(stop_cause why);

    /// The handler has returned. keep() does nothing from now on.
    void end(handler_end how);

    /// Writes what came of it: one step at a time. Answers when to call it again; nothing: it is
    /// over, and ended() tells how. Requires: end() was called.
    [[nodiscard]] std::optional<time_point> settle(time_point now);

    [[nodiscard]] const attempt_end& ended() const noexcept { return ended_; }

private:
    enum class stage : std::uint8_t {
        running,
        publishing,
        moving,
        finishing,
        failing,
        giving_back,
        over
    };
    using step_result = std::optional<time_point>;

    [[nodiscard]] task_table::report report() const;
    [[nodiscard]] time_point expiry(time_point sent) const;
    void stop_for(stop_cause why);
    [[nodiscard]] result<renewal> ask_to_renew();
    void take_renewal(const result<renewal>& found, time_point sent);
    [[nodiscard]] step_result publish_step(time_point now);
    [[nodiscard]] step_result move_step(time_point now);
    [[nodiscard]] step_result finish_step(time_point now);
    [[nodiscard]] step_result fail_step(time_point now);
    [[nodiscard]] step_result give_back_step(time_point now);
    [[nodiscard]] step_result again(time_point now, const error& why);
    [[nodiscard]] step_result refused();
    [[nodiscard]] step_result over(attempt_end how);
    void choose_stage();

    task_table& table_;
    const task_info row_;
    const attempt_settings how_;
    mutable std::mutex mutex_;
    std::stop_source stop_;
    stop_cause cause_ = stop_cause::none;
    time_point valid_until_;
    time_point hold_until_;
    time_point renew_at_;
    std::mutex progress_mutex_;  // a handler must not wait for a renewal
    double progress_ = 0;
    std::string note_;
    std::string staged_;
    std::string place_;
    stage stage_ = stage::running;
    handler_end result_;
    attempt_end ended_;
};

/// Does what a worker that won its row did not live to do: moves its output into place, and
/// finishes the row. If there is nothing to move, the task must run again. Anybody may do it, also
/// at the same time as others. Answers the row's state now; nothing: somebody else has changed it.
[[nodiscard]] result<std::optional<task_state>> complete_output(task_table& table,
                                                                const stalled_output& what);

}  // namespace holdfast::detail

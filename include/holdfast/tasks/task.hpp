// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/names.hpp>

#include <cstdint>
#include <string>
#include <string_view>

/// A task: work that must run once at a time, and that survives the worker that began it.
///
/// A row of a table is the truth about a task. Its states:
///
///     pending ──claim──▶ running ──finish──▶ finished
///        ▲                 │ │ └──publish──▶ publishing ──▶ finished
///        └──fail, crash────┘ └──▶ dead (no retry left), cancelled
///
/// A claim adds one to the row's **fence**. Every later write of that worker carries its fence, and
/// a row with a larger one refuses it: a worker that was paused past its lease changes nothing.
namespace holdfast {

enum class task_state : std::uint8_t {
    pending,     ///< Waits for its time, or for a worker.
    running,     ///< A worker has it, until its lease ends.
    publishing,  ///< The work is done and the row is won; its output is being moved into place.
    finished,    ///< Done, once and for all.
    dead,        ///< Failed or crashed too often. task_store::requeue() gives it another chance.
    cancelled,   ///< Ended from outside.
};

[[nodiscard]] std::string_view to_string(task_state state) noexcept;
/// Errors: invalid_argument; the detail lists the states.
[[nodiscard]] result<task_state> parse_task_state(std::string_view text);
/// Whether the state is final until somebody requeues it.
[[nodiscard]] constexpr bool has_ended(task_state state) noexcept {
    return state == task_state::finished || state == task_state::dead ||
           state == task_state::cancelled;
}

/// When a task that failed runs again. Failures and crashes are counted apart: a handler that says
/// no is not a worker that died.
struct retry_policy {
    enum class growth : std::uint8_t {
        fixed,        ///< `pause` each time.
        exponential,  ///< pause, 4 pause, 16 pause …, at most a day, plus up to a quarter of it.
    };
    /// How often it runs again after a failure; then it is dead. At most 1000.
    std::uint32_t retries = 3;
    duration pause = std::chrono::seconds(60);
    growth grows = growth::fixed;
    /// How often it runs again after its worker died with it; then it is dead. Few, because a task
    /// that kills its worker would kill them all.
    std::uint32_t crashes = 2;
};

/// What happens to a submission whose unique key belongs to a task that has not ended.
enum class unique_conflict : std::uint8_t {
    drop,        ///< The new one is dropped.
    replace,     ///< A pending task gets the new arguments and priority; a running one stays.
    reschedule,  ///< A pending task gets the new time; a running one stays.
};

struct task_submission {
    /// What the handler gets: UTF-8 without zero bytes, at most max_arguments.
    std::string arguments = {};
    /// 1 to 100 letters, digits, `-`, `_` and `.`, as all names here.
    std::string queue = "default";
    /// Up to 200 letters, digits, `-`, `_`, `.`, `:`, `@`. Drawn if it is empty. One id is one
    /// task for ever: a second submission of it is dropped.
    std::string id = {};
    int priority = 0;  ///< -100 to 100; larger first.
    duration delay = duration::zero();
    retry_policy retry = {};
    /// Of all tasks with one key, at most one has not ended. 1 to 200 bytes; empty: none.
    std::string unique_key = {};
    unique_conflict on_conflict = unique_conflict::drop;

    static constexpr std::size_t max_arguments = 65536;
};

/// A row of the table.
struct task_info {
    std::string id;
    std::string queue;
    std::string arguments;
    task_state state = task_state::pending;
    int priority = 0;
    fencing_token fence;
    std::uint32_t attempt = 0;   ///< How often it was started.
    std::uint32_t failures = 0;  ///< How often its handler failed.
    std::uint32_t crashes = 0;   ///< How often its worker died with it.
    retry_policy retry;
    std::string owner;    ///< The worker that has it, or had it last: host, pid, number.
    double progress = 0;  ///< 0 to 1, as the handler said.
    std::string note;     ///< What the handler said with it.
    std::string result;   ///< What the handler returned.
    std::string error;    ///< Why it failed last.
    std::string output;   ///< Where its output is, once it is finished.
    std::string unique_key;
    bool cancel_requested = false;
    wall_time run_at;  ///< By the database's clock, as all of these.
    wall_time created;
    wall_time started;
    wall_time ended;
    duration lease_left = duration::zero();  ///< Of a running task; when it was read.
};

/// What came of one attempt to process a task. Its JSON is one of
///
///     {"status":"success","task_id":"a1"}
///     {"status":"skipped","reason":"already_processing"}
///     {"status":"skipped","reason":"invalid_state"}
///     {"status":"error","reason":"…"}
struct task_outcome {
    enum class status : std::uint8_t { success, skipped, error };
    status what = status::success;
    std::string reason = {};  ///< `already_processing`, `invalid_state`, or why it failed.
    std::string id = {};
};

/// `id_name` is what the id is called there: `video_id` for videos. An id of digits only is a
/// number.
[[nodiscard]] std::string to_json(const task_outcome& outcome,
                                  std::string_view id_name = "task_id");

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/connection_pool.hpp"
#include "lease/tables/wake_hub.hpp"
#include "tasks/task_statements.hpp"

#include <holdfast/tasks/task_store.hpp>

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// The table of tasks: one function per thing that is done to it.
///
/// Each is one statement, or one transaction of few. None decides anything: the conditions are in
/// the statements, so that they hold whoever else writes at the same time.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

/// What a renewal found. `refused`: the row has another fence, or has ended.
enum class renewal : std::uint8_t { kept, cancel, refused };

/// A task whose worker died.
struct rescued_task {
    std::string id;
    task_state now = task_state::pending;
};

/// Output that waits to be moved into place.
struct stalled_output {
    std::string id;
    std::int64_t fence = 0;
    std::string staged;
    std::string place;
};

/// How long a failed task waits. Pure but for the jitter, which is drawn.
[[nodiscard]] duration retry_delay(const retry_policy& policy, std::uint32_t failures,
                                   entropy& chance);

class task_table {
public:
    task_table(std::unique_ptr<sql::database> of, writers how, const task_store_options& options);
    ~task_table();
    task_table(const task_table&) = delete;
    task_table& operator=(const task_table&) = delete;

    [[nodiscard]] clock& time() const noexcept { return *options_.time; }
    [[nodiscard]] entropy& chance() const noexcept { return *options_.chance; }

    // Of people.
    [[nodiscard]] result<submitted_task> submit(const task_submission& what);
    [[nodiscard]] result<std::optional<task_info>> find(std::string_view id);
    [[nodiscard]] result<std::vector<task_info>> list(const task_filter& which);
    [[nodiscard]] result<std::optional<task_state>> cancel(std::string_view id);
    [[nodiscard]] result<bool> requeue(std::string_view id);
    [[nodiscard]] result<std::uint64_t> forget(duration older_than);
    [[nodiscard]] result<void> set_paused(std::string_view queue, std::int64_t paused);
    [[nodiscard]] result<void> set_limit(std::string_view queue, std::uint32_t most_running);
    [[nodiscard]] result<std::vector<queue_info>> queues();
    [[nodiscard]] result<void> schedule(const task_schedule& what);
    [[nodiscard]] result<bool> unschedule(std::string_view name);
    [[nodiscard]] result<std::vector<task_schedule>> schedules();

    // Of workers.
    [[nodiscard]] result<std::vector<std::string>> peek(std::string_view queue, int most);
    [[nodiscard]] result<std::optional<task_info>> claim(std::string_view id,
                                                         std::string_view owner, duration lease);
    struct report {
        std::string_view id;
        std::int64_t fence;
    };
    [[nodiscard]] result<renewal> renew(const report& of, duration lease, double progress,
                                        std::string_view note);
    /// Answer whether the row was written.
    [[nodiscard]] result<bool> publish(const report& of, const stalled_output& where,
                                       std::string_view said, duration lease);
    [[nodiscard]] result<bool> finish(const report& of, std::string_view said);
    enum class failure : std::uint8_t { may_retry, permanent };
    /// Answer the state after it; nothing: refused.
    [[nodiscard]] result<std::optional<task_state>> fail(const report& of, std::string_view why,
                                                         duration wait, failure kind);
    [[nodiscard]] result<std::optional<task_state>> give_back(const report& of);
    [[nodiscard]] result<std::vector<rescued_task>> rescue();
    [[nodiscard]] result<std::vector<stalled_output>> stalled();
    [[nodiscard]] result<std::optional<task_state>> unpublish(const report& of);
    /// Submits the ticks of recurring tasks that are due; answers how many.
    [[nodiscard]] result<std::uint64_t> tick();

    /// How long until a task of the queue is due: zero or less if one is and cannot be claimed (its
    /// queue is paused, or has a limit); nothing if none waits.
    [[nodiscard]] result<std::optional<duration>> next_due(std::string_view queue);

    /// Called when there may be something to claim. The waker only notifies: it must not block.
    using waker = std::function<void()>;
    [[nodiscard]] std::uint64_t add_waker(waker wake);
    void drop_waker(std::uint64_t which);
    /// Whether what other processes submit calls the wakers too. Does not block; begins to listen
    /// when it is first called.
    [[nodiscard]] bool hears_others();
    /// Calls the wakers of all processes.
    void wake_all();

private:
    using row_reader = sql::row_reader;
    using work = std::function<result<void>(sql::connection&)>;

    /// On a connection that is ready; makes the tables first.
    [[nodiscard]] result<void> with(const work& what);
    /// All of it or nothing.
    [[nodiscard]] result<void> transact(const work& what);
    [[nodiscard]] result<void> make_tables(sql::connection& on);
    [[nodiscard]] result<std::int64_t> run(task_sentence what, std::span<const sql::value> values,
                                           const row_reader& reader = ignore_rows);
    [[nodiscard]] result<std::int64_t> change(task_sentence what,
                                              std::span<const sql::value> values,
                                              const row_reader& reader = ignore_rows);
    [[nodiscard]] result<std::optional<task_state>> run_for_state(
        task_sentence what, std::span<const sql::value> values);
    [[nodiscard]] result<void> settle_conflict(sql::connection& on, const task_submission& what,
                                               submitted_task& out);
    [[nodiscard]] result<void> tick_one(sql::connection& on, const task_schedule& due,
                                        wall_time now, std::uint64_t& submitted);
    void wake_here();
    static void ignore_rows(const sql::row& /*row*/) {}

    const task_store_options options_;
    const writers how_;
    std::unique_ptr<sql::database> database_;
    sql::connection_pool pool_;
    std::mutex mutex_;
    bool made_ = false;  // the tables
    std::mutex wakers_mutex_;
    std::vector<std::pair<std::uint64_t, waker>> wakers_;
    std::uint64_t next_waker_ = 1;
    sql::listener others_;  // the last: nothing is heard any more when the rest goes
};

/// A row of the columns that the statements return.
[[nodiscard]] task_info read_task(const sql::row& row);
/// Runs a statement of ours on a connection.
[[nodiscard]] result<std::int64_t> run_on(sql::connection& on, task_sentence what,
                                          std::span<const sql::value> values,
                                          const sql::row_reader& reader);
/// The values of `insert`; the texts live in `what` and `id`.
[[nodiscard]] std::array<sql::value, 10> insert_values(const task_submission& what,
                                                       std::string_view id);

}  // namespace holdfast::detail

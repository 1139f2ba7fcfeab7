// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/tasks/task.hpp>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The tasks of a database: submits them, shows them, ends them. A task_runner runs them.
///
/// The tables are made by the first program that uses them. They may be in the same database as
/// leases. docs/internals/task_format.md has the columns.
///
/// Example:
///
///     auto tasks = holdfast::open_tasks("sqlite:/var/lib/app/tasks.db").value();
///     auto sent = tasks.submit({.arguments = "report 2026-11", .unique_key = "report"});
///     if (!sent) return fail(sent.error());
///     auto seen = tasks.find(sent->id);  // pending, running, …
namespace holdfast {

namespace detail {
class task_table;
}  // namespace detail

/// What submit() did.
struct submitted_task {
    std::string id;       ///< Of the new task, or of the one that has the id or the unique key.
    bool created = true;  ///< False: there was one, and the conflict policy was applied.
};

/// Which tasks list() returns.
struct task_filter {
    std::string queue = {};  ///< Empty: of all queues.
    std::optional<task_state> state = {};
    std::uint32_t limit = 100;  ///< The newest so many; at most 10000.
};

struct queue_info {
    std::string name;
    bool paused = false;
    std::uint32_t most_running = 0;  ///< 0: no limit.
    std::map<task_state, std::uint64_t> tasks;
};

/// What happens to ticks of a recurring task that passed while no worker ran.
enum class catch_up : std::uint8_t {
    latest,  ///< One run, for the latest of them.
    all,     ///< One run for each, at most 1000.
    none,    ///< None; only a tick that is less than a minute late runs.
};

/// A recurring task: at each tick of its cron expression one task is submitted, by whichever worker
/// looks first. The task's id is the schedule's name, `@` and the tick, so a tick runs once over
/// all machines.
struct task_schedule {
    std::string name;  ///< 1 to 100 letters, digits, `-`, `_` and `.`.
    std::string cron;
    task_submission task = {};  ///< `id`, `delay` and `unique_key` are not used.
    catch_up missed = catch_up::latest;
    wall_time next = {};  ///< Set by the store.
};

struct task_store_options {
    /// How long one request may take before it fails as unavailable.
    duration timeout = std::chrono::seconds(10);
    /// Make the tables if they are not there. Otherwise requests fail as long as they are not.
    bool create = true;
    clock* time = &system_clock();
    entropy* chance = &system_entropy();
};

/// Thread safety: all members may be called from any thread. Blocks: one request to the database,
/// at most `timeout`. Errors of all of them: unavailable, denied, corrupt, outcome_unknown: of the
/// database.
class task_store {
public:
    /// By open_tasks().
    explicit task_store(std::shared_ptr<detail::task_table> table);

    /// Errors: invalid_argument: the detail names the field and its values.
    /// A submission with an id may be repeated after outcome_unknown.
    [[nodiscard]] result<submitted_task> submit(const task_submission& what);

    [[nodiscard]] result<std::optional<task_info>> find(std::string_view id);

    /// Newest first.
    [[nodiscard]] result<std::vector<task_info>> list(const task_filter& which = {});

    /// Ends a pending task at once. A running one is asked to stop by its stop token, within a
    /// third of its lease, and is cancelled when its handler returns. Returns its state now.
    /// Errors: invalid_argument (there is no such task, or it has ended).
    [[nodiscard]] result<task_state> cancel(std::string_view id);

    /// Makes a dead or cancelled task pending again, with all its retries.
    /// Errors: invalid_argument (there is no such task, it is not dead or cancelled, or another
    /// task has its unique key by now).
    [[nodiscard]] result<void> requeue(std::string_view id);

    /// No task of the queue is claimed until it is resumed; what runs goes on.
    [[nodiscard]] result<void> pause(std::string_view queue);
    [[nodiscard]] result<void> resume(std::string_view queue);

    /// At most so many tasks of the queue run at the same time, over all machines; 0: no limit.
    [[nodiscard]] result<void> limit(std::string_view queue, std::uint32_t most_running);

    [[nodiscard]] result<std::vector<queue_info>> queues();

    /// Makes a recurring task, or replaces the one of that name. Its first tick is the next one.
    [[nodiscard]] result<void> schedule(const task_schedule& what);
    /// Returns whether there was one.
    [[nodiscard]] result<bool> unschedule(std::string_view name);
    [[nodiscard]] result<std::vector<task_schedule>> schedules();

    /// Deletes tasks that ended longer ago than that, at most 10000. Returns how many.
    [[nodiscard]] result<std::uint64_t> forget(duration older_than);

    [[nodiscard]] const std::shared_ptr<detail::task_table>& table() const noexcept {
        return table_;
    }

private:
    std::shared_ptr<detail::task_table> table_;
};

/// Opens the tasks of a database: `sqlite:/path` for one machine, `postgresql://…` or `mysql://…`
/// for several.
/// Errors: invalid_argument, unsupported (an engine without tables, or not in this build).
/// Blocks: does no I/O.
[[nodiscard]] result<task_store> open_tasks(std::string_view url,
                                            const task_store_options& options = {});

}  // namespace holdfast

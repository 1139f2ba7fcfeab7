// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/sql_statements.hpp"

#include <cstdint>
#include <string>
#include <vector>

/// The tables of tasks and every statement on them, written once for all databases.
///
/// The contract of each statement stands beside its text in task_statements.cpp; what the columns
/// mean is in docs/internals/task_format.md.
namespace holdfast::detail {

enum class task_sentence : std::uint8_t {
    // The tables.
    guard_schema,  // one program makes them at a time
    make_tasks,
    make_unique_index,
    make_queue_index,
    make_lease_index,
    make_queues,
    make_schedules,
    // Submitting.
    insert,
    unique_holder,
    replace,
    reschedule,
    // Of a worker.
    peek,
    next_due,
    lock_queue,
    claim,
    renew,
    publish,
    finish,
    fail,
    give_back,
    expired,  // where an UPDATE returns no rows
    rescue,
    stalled,
    unpublish,
    // Of people.
    find,
    list,
    cancel,
    requeue,
    forget,
    count,
    // Queues.
    pause,
    limit,
    queues,
    // Recurring tasks.
    put_schedule,
    drop_schedule,
    all_schedules,
    due_schedules,
    advance,
};
inline constexpr std::size_t task_sentence_count =
    static_cast<std::size_t>(task_sentence::advance) + 1;

/// How a database takes several writers.
enum class writers : std::uint8_t {
    one_at_a_time,  ///< SQLite: a statement sees all that others have written.
    together,       ///< A server: what a claim counts must be locked first.
    together_plain  ///< And its UPDATE returns no rows (mysql_task_statements.hpp).
};

[[nodiscard]] constexpr sql::sentence sentence_of(task_sentence what) noexcept {
    return sql::further_sentence(static_cast<std::size_t>(what));
}

/// Their texts, in the order of task_sentence.
[[nodiscard]] std::vector<std::string> task_statements(const sql::dialect& words, writers how);

/// What makes the tables, for an administrator.
[[nodiscard]] std::vector<std::string> task_schema(const sql::dialect& words, writers how);

}  // namespace holdfast::detail

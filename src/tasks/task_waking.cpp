// SPDX-License-Identifier: Apache-2.0
//
// How workers learn of a task without looking for it again and again. Those of this process are
// called; those of others hear it through the database (sql_database.hpp): PostgreSQL carries a
// NOTIFY to all of them, and of a SQLite file the times are set, for which they have the kernel
// watch. A wake-up that is lost costs no more than the wait until the next look.
#include "tasks/task_table.hpp"

#include <array>

namespace holdfast::detail {

std::uint64_t task_table::add_waker(waker wake) {
    const std::scoped_lock guard(wakers_mutex_);
    wakers_.emplace_back(next_waker_, std::move(wake));
    return next_waker_++;
}

void task_table::drop_waker(std::uint64_t which) {
    const std::scoped_lock guard(wakers_mutex_);
    std::erase_if(wakers_, [&](const auto& one) { return one.first == which; });
}

// Under the mutex, so that none is called after it was dropped.
void task_table::wake_here() {
    const std::scoped_lock guard(wakers_mutex_);
    for (const auto& one : wakers_) one.second();
}

void task_table::wake_all() {
    wake_here();
    database_->touch();
    if (!database_->broadcasts()) return;
    const std::array<sql::value, 3> note{sql::everybody.process, sql::everybody.number,
                                         std::string_view()};
    // If it fails, they look by themselves.
    static_cast<void>(with([&](sql::connection& on) -> result<void> {
        const auto told = on.run(sql::sentence::tell_other, note, ignore_rows);
        return told ? result<void>() : std::unexpected(told.error());
    }));
}

bool task_table::hears_others() {
    return database_->hear_all(others_.id(), time().now()).has_value();
}

result<std::optional<duration>> task_table::next_due(std::string_view queue) {
    std::optional<duration> due;
    const std::array<sql::value, 1> values{queue};
    const auto done = run(task_sentence::next_due, values, [&](const sql::row& row) {
        if (!row.is_null(0)) due = std::chrono::microseconds(row.number(0));
    });
    if (!done) return std::unexpected(done.error());
    return due;
}

}  // namespace holdfast::detail

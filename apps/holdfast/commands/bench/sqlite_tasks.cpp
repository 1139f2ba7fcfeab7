// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/sqlite_tasks.hpp"

#include <holdfast/clock.hpp>

#include <fmt/format.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdint>
#include <memory>

namespace holdfast::bench {
namespace {

struct task_closer {
    void operator()(sqlite3* db) const noexcept { ::sqlite3_close_v2(db); }
    void operator()(sqlite3_stmt* one) const noexcept { ::sqlite3_finalize(one); }
};
using task_statement = std::unique_ptr<sqlite3_stmt, task_closer>;

constexpr const char* task_tables =
    "PRAGMA journal_mode = wal; PRAGMA synchronous = normal;"
    "DROP TABLE IF EXISTS tasks;"
    "CREATE TABLE tasks (id INTEGER PRIMARY KEY, state TEXT NOT NULL, owner TEXT NOT NULL, "
    "fence INTEGER NOT NULL, run_at INTEGER NOT NULL, lease_until INTEGER NOT NULL, "
    "result TEXT NOT NULL);"
    "CREATE INDEX by_state ON tasks (state, run_at);";

task_statement prepare_task(sqlite3* db, const char* text) {
    sqlite3_stmt* made = nullptr;
    ::sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    return task_statement(made);
}

// The first column, or -1 if there is no row.
std::int64_t step_once(sqlite3_stmt* one) {
    const std::int64_t found =
        ::sqlite3_step(one) == SQLITE_ROW ? ::sqlite3_column_int64(one, 0) : -1;
    ::sqlite3_step(one);
    ::sqlite3_reset(one);
    return found;
}

std::int64_t now_us() {
    return std::chrono::floor<std::chrono::microseconds>(system_clock().now().time_since_epoch())
        .count();
}

bool fill_tasks(sqlite3* db, int count) {
    const std::string text = fmt::format(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {}) "
        "INSERT INTO tasks SELECT i, 'pending', '', 0, 0, 0, '' FROM n",
        count);
    return ::sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
}

}  // namespace

double tasks_by_sqlite(const std::string& path, int count) {
    sqlite3* raw = nullptr;
    if (::sqlite3_open(path.c_str(), &raw) != SQLITE_OK) return -1;
    const std::unique_ptr<sqlite3, task_closer> db(raw);
    if (::sqlite3_exec(raw, task_tables, nullptr, nullptr, nullptr) != SQLITE_OK) return -1;
    if (!fill_tasks(raw, count)) return -1;
    const auto look = prepare_task(raw,
                                   "SELECT id FROM tasks WHERE state = 'pending' AND run_at <= ?1 "
                                   "ORDER BY run_at LIMIT 1");
    const auto claim =
        prepare_task(raw,
                     "UPDATE tasks SET state = 'running', owner = 'me', fence = fence + 1, "
                     "lease_until = ?2 WHERE id = ?1 AND state = 'pending' RETURNING fence");
    const auto finish = prepare_task(raw,
                                     "UPDATE tasks SET state = 'finished', lease_until = 0, "
                                     "result = 'done' WHERE id = ?1 AND fence = ?2");
    const time_point begin = system_clock().now();
    for (int i = 0; i < count; ++i) {
        ::sqlite3_bind_int64(look.get(), 1, now_us());
        const std::int64_t id = step_once(look.get());
        ::sqlite3_bind_int64(claim.get(), 1, id);
        ::sqlite3_bind_int64(claim.get(), 2, now_us() + 30'000'000);
        const std::int64_t fence = step_once(claim.get());
        ::sqlite3_bind_int64(finish.get(), 1, id);
        ::sqlite3_bind_int64(finish.get(), 2, fence);
        step_once(finish.get());
        if (id < 0 || fence < 0 || ::sqlite3_changes(raw) != 1) return -1;
    }
    return std::chrono::duration<double>(system_clock().now() - begin).count();
}

}  // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tasks/task_statements.hpp"

#include <optional>
#include <string>
#include <string_view>

/// What MariaDB and MySQL say in other words.
///
/// Their UPDATE returns no rows, so what it did is read behind it, in the same transaction. They
/// have no index on some of the rows: the unique key of a task that has not ended is a column of
/// its own, which is null once it has ended. They take no table from which an UPDATE reads and to
/// which it writes: whether a queue is closed is found out before the claim, while it is locked.
namespace holdfast::detail {

/// Nothing: the common text will do. `columns` are those of a task.
[[nodiscard]] std::optional<std::string> mysql_task_text(task_sentence what,
                                                         std::string_view columns);

/// What is different in the table of tasks.
struct mysql_task_table {
    static constexpr std::string_view text = "MEDIUMTEXT";  // TEXT holds 65535 bytes
    static constexpr std::string_view more = R"(,
    live_key VARBINARY(512) GENERATED ALWAYS AS (IF(unique_key <> '' AND
        state IN ('pending', 'running', 'publishing'), unique_key, NULL)) STORED,
    UNIQUE INDEX holdfast_tasks_unique (live_key),
    INDEX holdfast_tasks_by_queue (queue, state, priority, run_at, id),
    INDEX holdfast_tasks_by_lease (lease_until))";
};

}  // namespace holdfast::detail

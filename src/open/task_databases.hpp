// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/url.hpp>
#include <holdfast/tasks/task_store.hpp>

/// Which databases keep tasks, and how each is opened.
namespace holdfast::detail {

[[nodiscard]] result<task_store> open_sqlite_tasks(const url& where,
                                                   const task_store_options& options);
[[nodiscard]] result<task_store> open_postgresql_tasks(const url& where,
                                                       const task_store_options& options);
[[nodiscard]] result<task_store> open_mysql_tasks(const url& where,
                                                  const task_store_options& options);

}  // namespace holdfast::detail

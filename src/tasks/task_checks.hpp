// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/tasks/task_store.hpp>

#include <string_view>

/// What may be stored: names, ids, arguments, numbers. Pure.
///
/// Statements never contain a user's text, so nothing here is about SQL. It is about what people
/// and file systems can handle: an id is a part of keys, paths and log lines.
namespace holdfast::detail {

/// Errors of all: invalid_argument; the detail names the field and what it takes.
[[nodiscard]] result<void> check_queue(std::string_view name);
[[nodiscard]] result<void> check_task_id(std::string_view id);
[[nodiscard]] result<void> check_submission(const task_submission& what);
[[nodiscard]] result<void> check_schedule(const task_schedule& what);

/// A text of another program for a column of ours: cut to `most` bytes, what is no text replaced.
[[nodiscard]] std::string stored_text(std::string_view text, std::size_t most = 4096);

}  // namespace holdfast::detail

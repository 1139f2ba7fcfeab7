// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/command_engine.hpp>
#include <holdfast/names.hpp>

#include <chrono>
#include <span>
#include <string>
#include <string_view>

/// Writes that refuse an older fence.
///
/// A holder can be paused between its last look at the lease and its write, for longer than the
/// lease runs; then another has it, and has written. Only the resource itself can refuse the late
/// write: by keeping the largest fence it has seen, in the same step as the write.
///
/// A fence equal to the largest is accepted, so that one holder may write more than once.
namespace holdfast {

/// How a guarded write ended. `highest` is the largest fence that the resource has seen: the
/// writer's own if it was written, the one of a later holder if it was refused.
struct guarded_outcome {
    bool written = false;
    fencing_token highest;
};

struct guarded_set_options {
    /// How long the value lives; zero: until it is overwritten or deleted.
    duration ttl = duration::zero();
    /// How long the largest fence is remembered after the last write. A writer that comes later
    /// than this is not refused: longer than any pause that you can imagine.
    duration remembered = std::chrono::hours(24 * 7);
};

/// SET of a Redis key, unless a later holder has written it. The fence is kept beside it, at
/// "{key}:fence" (in the key's hash slot).
/// Errors: as the command seam; invalid_argument (an empty key, a fence of 0 or above 2^53, a ttl
/// below 1 ms).
/// Blocks: at most until `give_up`.
[[nodiscard]] result<guarded_outcome> guarded_set(command_engine& engine, std::string_view key,
                                                  std::string_view value, fencing_token fence,
                                                  time_point give_up,
                                                  const guarded_set_options& options = {});

/// The script behind it, for those who want the check before writes of their own: KEYS 1 the value,
/// 2 its fence; ARGV 1 fence, 2 value, 3 ttl_ms or 0, 4 remembered_ms. Answers {1 or 0, the largest
/// fence}.
[[nodiscard]] const script& guarded_set_script();

/// How a database wants the places of its parameters: ? ? ? (SQLite, MySQL) or $1 $2 $3
/// (PostgreSQL).
enum class sql_parameters : std::uint8_t { question_marks, dollars };

/// A table of yours, with a column `fence BIGINT NOT NULL DEFAULT 0`.
struct guarded_table {
    std::string name;
    std::string key_column = "id";
    std::string fence_column = "fence";
    sql_parameters parameters = sql_parameters::question_marks;
};

/// The statement that writes the columns of a row unless a later holder has written it. No row
/// changed: refused (or there is no such row). Parameters, in this order: the columns' values, the
/// fence, the key; and with question marks the fence once more.
///
///     UPDATE orders SET state = ?, fence = ? WHERE id = ? AND fence <= ?
///
/// Errors: invalid_argument, if a name is not letters, digits, underscores and dots.
[[nodiscard]] result<std::string> guarded_update_sql(const guarded_table& table,
                                                     std::span<const std::string_view> columns);

/// The statement that answers the largest fence of a row; its parameter is the key.
/// Errors: as guarded_update_sql.
[[nodiscard]] result<std::string> highest_fence_sql(const guarded_table& table);

}  // namespace holdfast

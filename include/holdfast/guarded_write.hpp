// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/names.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// Writes that refuse an older fence.
///
/// A holder can be paused between its last check of the lease and its write, for longer than the
/// lease lasts; then another holds it, and has written. Only the resource itself can refuse the
/// late write: by keeping the largest fence it has seen, in the same step as the write.
///
/// A fence equal to the largest is accepted, so that one holder may write more than once. For two
/// writes with one fence the order counts in which a process began them: see guarded_set().
///
/// **Read, change, write back: claim before you read.** The write alone does not protect a change
/// that begins with a read. A late write of an earlier holder may arrive after the next holder has
/// read and before it writes; nobody has shown a larger fence yet, so it is accepted, and then
/// overwritten by a value that was computed without it. guarded_claim() shows the fence with the
/// read: whatever an earlier holder sends after that is refused, and what it had written before is
/// in what was read.
///
///     auto row = guarded_claim(redis, "row/7", held.fence(), redis.time().now() + 2s);
///     if (!row || !row->claimed) return;  // a later holder has it
///     auto done = guarded_set(redis, "row/7", change(row->value), held.fence(), …);
namespace holdfast {

/// How a guarded write ended. `highest` is the largest fence that the resource has seen: the
/// writer's own if it was written, the one of a later holder if it was refused.
struct guarded_outcome {
    bool written = false;
    fencing_token highest;
};

struct guarded_set_options {
    /// How long the value is kept; zero: until it is overwritten or deleted.
    duration ttl = duration::zero();
    /// How long the largest fence is remembered after the last write. A writer that comes later
    /// than this is not refused: choose it longer than any pause that can happen.
    duration remembered = std::chrono::hours(24 * 7);
};

/// SET of a Redis key, unless a later holder has written it. The fence is kept beside it, at
/// "{key}:fence", and the number of the last write at "{key}:fence:last" (in the key's hash slot).
///
/// A write that a stalled connection delivers after a later one of the same process and fence
/// changes nothing, and counts as written before it. Two processes that write with one fence are
/// not put in order.
/// Errors: as the command seam; invalid_argument (an empty key, a fence of 0 or above 2^53, a ttl
/// below 1 ms).
/// Blocks: at most until `give_up`.
[[nodiscard]] result<guarded_outcome> guarded_set(command_engine& engine, std::string_view key,
                                                  std::string_view value, fencing_token fence,
                                                  time_point give_up,
                                                  const guarded_set_options& options = {});

/// The script behind it, to combine the check with other writes: KEYS 1 the value,
/// 2 its fence; ARGV 1 fence, 2 value, 3 ttl_ms or 0, 4 remembered_ms. Answers {1 or 0, the largest
/// fence}. With KEYS 3 the last write, ARGV 5 the writer in hex digits and ARGV 6 the number of the
/// write, an earlier write of the same writer and fence is left out.
[[nodiscard]] const script& guarded_set_script();

/// How a claim ended. `highest` is the largest fence that the resource has seen: the caller's own
/// if it was claimed, the one of a later holder if it was refused.
struct guarded_claim_outcome {
    bool claimed = false;
    fencing_token highest;
    /// The key's value; empty if there is none, it is not a string, or the claim was refused.
    std::optional<std::string> value;
};

struct guarded_claim_options {
    /// As guarded_set_options::remembered, counted from the claim.
    duration remembered = std::chrono::hours(24 * 7);
};

/// Reads a Redis key, and shows it the fence in the same step: from then on guarded_set() with an
/// older fence is refused. Refused itself if a later holder has claimed or written. A key of
/// another type is claimed too: read it after that.
/// Errors: as the command seam; invalid_argument (an empty key, a fence of 0 or above 2^53,
/// `remembered` below 1 ms).
/// Blocks: at most until `give_up`.
[[nodiscard]] result<guarded_claim_outcome> guarded_claim(
    command_engine& engine, std::string_view key, fencing_token fence, time_point give_up,
    const guarded_claim_options& options = {});

/// The script behind it: KEYS 1 the value, 2 its fence; ARGV 1 fence, 2 remembered_ms. Answers {1,
/// fence, value}, without the value if there is no string, or {0, the largest fence}.
[[nodiscard]] const script& guarded_claim_script();

/// How a database marks its parameters: ? ? ? (SQLite, MySQL) or $1 $2 $3
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

/// The statement that shows the fence to a row before it is read: from then on guarded_update_sql
/// with an older fence changes no row. Parameters: the fence, the key; and with question marks the
/// fence once more. Read the row after it, in the same transaction or a later one. No row changed:
/// a later holder has the row (or there is no such row).
///
///     UPDATE orders SET fence = ? WHERE id = ? AND fence <= ?
///
/// Errors: as guarded_update_sql.
[[nodiscard]] result<std::string> guarded_claim_sql(const guarded_table& table);

/// Returns the statement that reads the largest fence of a row; its parameter is the key.
/// Errors: as guarded_update_sql.
[[nodiscard]] result<std::string> highest_fence_sql(const guarded_table& table);

}  // namespace holdfast

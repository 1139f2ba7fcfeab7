// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/bench_engine.hpp"
#include "commands/bench/raw_pairs.hpp"

#include <string>

/// What measurements of a SQLite file or a database compare with: prepared statements as one would
/// write them by hand, on another file in the same place, or another table.
namespace holdfast::app {

/// What `synchronous` the engine's file has, by its URL: "normal" or "full".
[[nodiscard]] std::string synchronous_of(const std::string& engine_url);

/// Whether its leases are locks of sessions, by its URL: mode=session.
[[nodiscard]] bool uses_sessions(const std::string& engine_url);

/// What pairs_by_hand_in_a_database() uses: "prepared statements", "advisory locks" …
[[nodiscard]] std::string database_reference(const std::string& engine_url);

/// A lock in a file as one would write it by hand, beside the engine's file.
/// Errors: unsupported, if this program was built without SQLite.
[[nodiscard]] result<bench::pairs_result> pairs_by_hand_in_a_file(
    const bench_engine& engine, const bench::pairs_options& wanted);

/// The same in another table of the engine's database; or by the same kind of lock, if its leases
/// are locks of sessions.
/// Errors: unsupported, if this program was built without its client.
[[nodiscard]] result<bench::pairs_result> pairs_by_hand_in_a_database(
    const bench_engine& engine, const bench::pairs_options& wanted);

/// The same of a rate limit: a count and its window for each of `keys`.
[[nodiscard]] result<bench::pairs_result> counts_by_hand_in_a_file(
    const bench_engine& engine, const bench::pairs_options& wanted, int keys);

}  // namespace holdfast::app

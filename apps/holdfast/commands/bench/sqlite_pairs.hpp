// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/raw_pairs.hpp"

#include <string>

/// A lock in a SQLite file as one would write it by hand: a table of names with owner and expiry,
/// one prepared statement to take a name and one to give it back, each a transaction by itself. No
/// fence, no line, no keeper, and the time is the machine's.
namespace holdfast::bench {

/// "normal" or "full", as SQLite's PRAGMA synchronous.
struct sqlite_pairs_options {
    pairs_options pairs{};
    std::string synchronous = "normal";
};

/// A connection for each thread, on the file `path`, which is made.
[[nodiscard]] pairs_result pairs_by_sqlite(const std::string& path,
                                           const sqlite_pairs_options& options);

/// A rate limit as one would write it by hand: a count and the end of its window for each key, and
/// one prepared statement that raises the one or begins the other. Each is timed as acquire.
[[nodiscard]] pairs_result counts_by_sqlite(const std::string& path,
                                            const sqlite_pairs_options& options, int keys);

}  // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/raw_pairs.hpp"

#include <string>

/// A lock in MariaDB or MySQL as one would write it by hand: a table of names with owner and
/// expiry, one prepared statement to take a name and one to give it back, each a transaction by
/// itself, by the library's blocking calls. No fence, no line, no keeper.
namespace holdfast::bench {

/// A connection for each thread, on the database of the URL; the table is made, and left there
/// empty.
/// Errors: as open() of that URL.
[[nodiscard]] result<pairs_result> pairs_by_mysql(const std::string& url,
                                                  const pairs_options& options);

}  // namespace holdfast::bench

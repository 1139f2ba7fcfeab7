// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <string>
#include <string_view>

/// What PostgreSQL's SQLSTATEs mean to us: one code, and one sentence that says what to do. It ends
/// with PostgreSQL's own words in brackets, for whoever searches a fault.
namespace holdfast::postgresql {

/// What the server, or libpq, said.
struct complaint {
    std::string state;  ///< Five characters; empty if it does not come from the server.
    std::string words;
};

/// A statement that the server refused: it was not carried out. `label` is how errors call the
/// database.
[[nodiscard]] error refused(const complaint& said, std::string_view label);

/// A connection that could not be made. `words` is libpq's verbose message.
[[nodiscard]] error cannot_connect(std::string_view words, std::string_view label);

/// The tables could not be made. `said` is why.
[[nodiscard]] error cannot_create(const complaint& said, std::string_view label);

/// Lost a conflict with another transaction: the same again may succeed.
[[nodiscard]] bool is_conflict(std::string_view state);

/// One line, without what tells where in PostgreSQL's sources it was said.
[[nodiscard]] std::string one_line(std::string_view words);

}  // namespace holdfast::postgresql

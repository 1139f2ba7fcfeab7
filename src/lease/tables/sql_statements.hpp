// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/sql_connection.hpp"

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// The tables and every statement of the SQL family, written once where databases agree.
///
/// The contract of each statement stands beside its text in sql_statements.cpp; what the columns
/// mean is in docs/internals/sql_format.md.
namespace holdfast::sql {

enum class sentence : std::uint8_t {
    // The quick ways: one statement by itself, for a name that one owner holds exclusively and
    // nobody waits for.
    take,
    take_gate,  // the same on a server, if the name has a gate
    extend,
    release_free,
    look,  // of a waiter, when nothing has happened
    // The full way, in a transaction: load, decide in a name_book, write back.
    gate,
    put_gate,
    drop_gate,
    parties,
    put_party,
    drop_party,
    /// Tells a waiter of another process, when the transaction is committed.
    tell_other,
    // For people.
    list_gates,
    introduce,
    client,
    now,
    // Keeping the tables small.
    sweep,
    sweep_free,  // where gates that are free stay
    forget_clients,
    // What holders say of themselves.
    put_note,
    drop_note,
    read_note,
    forget_notes,
    // Keys, for an engine that carries out commands on them.
    load_key,
    all_keys,
    put_key,
    drop_key,
    sweep_keys,
};
inline constexpr std::size_t sentence_count = static_cast<std::size_t>(sentence::sweep_keys) + 1;

/// The statement number `index` of those that were given to a connection besides ours.
[[nodiscard]] constexpr sentence further_sentence(std::size_t index) noexcept {
    return static_cast<sentence>(sentence_count + index);
}

/// A statement that a database writes in its own way.
struct own_text {
    sentence what;
    std::string_view text;
};

/// What differs between databases in the text of statements and tables.
struct dialect {
    /// The time in microseconds since 1970, the same for all of a transaction that has begun to
    /// write, never going back from one transaction to the next.
    std::string_view now;
    /// The same, or earlier: the time at which a statement by itself began, before it waited for
    /// anything. The same wherever it stands in a statement.
    std::string_view began;
    /// A function that answers its one argument, a number, and leaves it for connection::told(). A
    /// statement with RETURNING would do as well, and take SQLite a table more.
    std::string_view tell;
    /// A text of at most 512 bytes that is compared byte by byte.
    std::string_view name_type;
    /// What follows the columns of a table whose primary key is how its rows are stored.
    std::string_view by_key;
    /// What stands before the number of a value: ?1, $1.
    char mark = '?';
    /// Has the table of keys, for an engine that carries out commands on them.
    enum class keys : std::uint8_t { none, stored } commands = keys::stored;
    /// Statements in other words than ours. In them, too, {now} stands for the time.
    std::span<const own_text> own = {};
};

/// The version of the tables. Another one is refused.
inline constexpr int schema_version = 3;

/// Why tables of that version, which is not ours, are refused, and what to do. `elsewhere` is where
/// this program could have tables of its own: "another database".
[[nodiscard]] std::string version_refusal(int found, std::string_view elsewhere);

/// What makes the tables in an empty database.
[[nodiscard]] std::vector<std::string> schema(const dialect& words);

/// Their texts, with ?1, ?2 … (or $1, $2 …) for the values. Empty: this database has no such.
[[nodiscard]] std::array<std::string, sentence_count> statements(const dialect& words);

/// A text in which {now} and ?1 stand for what the dialect has for them.
[[nodiscard]] std::string in_dialect(std::string_view text, const dialect& words);

/// Ours, and behind them those of somebody else.
[[nodiscard]] std::vector<std::string> statements_and(const dialect& words,
                                                      std::span<const std::string> further);

}  // namespace holdfast::sql

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/sql_connection.hpp"

#include <array>
#include <string>
#include <vector>

/// The tables and every statement of the SQL family, written once.
///
/// The contract of each statement stands beside its text in sql_statements.cpp; what the columns
/// mean is in docs/internals/sql_format.md.
namespace holdfast::sql {

enum class sentence : std::uint8_t {
    // The quick ways: one statement by itself, for a name that one owner holds exclusively and
    // nobody waits for.
    take,
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
    // For people.
    list_gates,
    introduce,
    client,
    // Keeping the tables small.
    sweep,
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

/// The version of the tables. Another one is refused.
inline constexpr int schema_version = 3;

/// What makes the tables in an empty database.
[[nodiscard]] std::vector<std::string> schema(const dialect& words);

/// Their texts, with ?1, ?2 … for the values.
[[nodiscard]] std::array<std::string, sentence_count> statements(const dialect& words);

}  // namespace holdfast::sql

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/name_book.hpp"
#include "lease/tables/sql_connection.hpp"

#include <optional>
#include <string_view>

/// The rows of leases: the quick statements, and how a name's rows become a book and back.
///
/// A name that one owner holds exclusively, and nobody waits for, is one row: its gate. That is the
/// usual case, and each request about it is one statement. Whenever there is more to say (a second
/// party, a shared lease, permits, an eviction to be told) the gate is marked as a crowd: then the
/// parties have rows of their own, the gate holds the fence and when something is due, and every
/// request takes the full way.
namespace holdfast::sql {

/// Thread safety: as its connection.
class lease_table {
public:
    explicit lease_table(connection& to) : db_(to) {}

    /// Nothing: the full way is needed. So for all of these.
    [[nodiscard]] result<std::optional<answer::granted>> take(const ask::acquire& asked,
                                                              const listener_id& self);
    [[nodiscard]] result<std::optional<answer::renewed>> extend(const ask::renew& asked);
    [[nodiscard]] result<std::optional<answer::released>> release_free(const ask::release& asked);
    [[nodiscard]] result<std::optional<answer::busy>> look(const ask::acquire& asked,
                                                           const listener_id& self);

    /// Requires: a transaction has begun.
    [[nodiscard]] result<name_book> load(std::string_view name, const hearing_check& hears);
    [[nodiscard]] result<void> save(std::string_view name, name_book& book);

private:
    [[nodiscard]] result<void> put_gate(std::string_view name, const name_book& book,
                                        const party* alone, std::int64_t due, bool crowd);
    [[nodiscard]] result<void> put_party(std::string_view name, const party& who);

    connection& db_;
};

/// One of the rows that sentence::parties reads.
[[nodiscard]] party read_party(const row& from);

}  // namespace holdfast::sql

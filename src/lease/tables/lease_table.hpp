// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/name_book.hpp"
#include "lease/tables/sql_connection.hpp"

#include <string_view>

/// The rows of leases: how a name's rows become a book, and back.
///
/// A name that one owner holds exclusively, and nobody waits for, is one row: its gate
/// (quick_request.hpp). Whenever there is more to say (a second party, a shared lease, permits, an
/// eviction to be told) the gate is marked as a crowd: then the parties have rows of their own, the
/// gate holds the fence and when something is due, and every request takes the full way.
namespace holdfast::sql {

/// Thread safety: as its connection.
class lease_table {
public:
    explicit lease_table(connection& to) : db_(to) {}

    /// What becomes of the gate of a name that nobody is at.
    enum class free_gate : std::uint8_t { stays, goes };

    /// Requires, for both: a transaction has begun.
    [[nodiscard]] result<name_book> load(std::string_view name, const hearing_check& hears,
                                         wake_reach reach = wake_reach::process);
    [[nodiscard]] result<void> save(std::string_view name, name_book& book, free_gate then);

private:
    [[nodiscard]] result<void> put_gate(std::string_view name, const name_book& book,
                                        const party* alone, std::int64_t due, bool crowd);
    [[nodiscard]] result<void> put_party(std::string_view name, const party& who);

    connection& db_;
};

/// One of the rows that sentence::parties reads.
[[nodiscard]] party read_party(const row& from);

}  // namespace holdfast::sql

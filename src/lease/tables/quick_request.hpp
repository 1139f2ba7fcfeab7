// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/name_book.hpp"
#include "lease/tables/name_memory.hpp"
#include "lease/tables/sql_connection.hpp"
#include "lease/tables/sql_statements.hpp"

#include <array>
#include <optional>

/// The quick way of a request: one statement, and what its outcome means.
///
/// A name that one owner holds exclusively, and nobody waits for, is one row: its gate. That is the
/// usual case, and each request about it is one statement. A waiter's look is one statement, too,
/// when nothing has happened since its last.
namespace holdfast::sql {

/// Refers to the request and to itself: it stays where it was made, and the request outlives it.
class quick_request {
public:
    quick_request(const lease_request& asked, const listener_id& self,
                  name_memory::state seen = name_memory::state::unknown);
    quick_request(const quick_request&) = delete;
    quick_request& operator=(const quick_request&) = delete;

    /// False: only the full way serves it.
    [[nodiscard]] bool possible() const noexcept { return count_ > 0; }

    /// What to run.
    [[nodiscard]] call statement() const noexcept;

    /// Whether it learns, if it succeeds, that the name has a gate, which was not known.
    [[nodiscard]] bool finds_gate() const noexcept { return what_ == sentence::take; }

    /// Once it ran. Nothing: the full way is needed.
    [[nodiscard]] std::optional<lease_reply> outcome(const call& ran) const;

private:
    void prepare(const ask::acquire& asked, const listener_id& self);
    void prepare(const ask::renew& asked, const listener_id& self);
    void prepare(const ask::release& asked, const listener_id& self);
    void prepare(const ask::leave& /*asked*/, const listener_id& /*self*/) {}
    void see(const row& found);

    const lease_request& asked_;
    const name_memory::state seen_at_;
    sentence what_ = sentence::take;
    std::array<value, 6> values_;
    std::size_t count_ = 0;
    row_reader reader_;
    std::optional<answer::busy> seen_;
};

}  // namespace holdfast::sql

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/name_book.hpp"
#include "lease/tables/sql_connection.hpp"

#include <memory>

/// A database, as a store needs it: several connections, and notes between processes.
namespace holdfast::sql {

/// Whom sentence::tell_other addresses to reach all; no store has this id.
inline constexpr listener_id everybody{};

/// Thread safety: all members may be called from any thread.
class database {
public:
    virtual ~database() = default;

    /// One that connects when it is first used.
    [[nodiscard]] virtual std::unique_ptr<connection> make_connection() = 0;

    /// So many are made at most; further threads wait for one.
    [[nodiscard]] virtual std::size_t most_connections() const noexcept { return 1; }

    /// Whether sentence::tell_other reaches waiters of other processes.
    [[nodiscard]] virtual bool carries_notes() const noexcept { return false; }

    /// Makes notes for that store arrive (by tell() of wake_hub.hpp), from now on and until the
    /// database is destroyed. Called before one of its waiters waits in the queue.
    /// Errors: why they cannot.
    [[nodiscard]] virtual result<void> hear(const listener_id& /*whose*/, time_point /*give_up*/) {
        return {};
    }

    /// Whether sentence::tell_other to `everybody` reaches all that hear_all(), in any process.
    [[nodiscard]] virtual bool broadcasts() const noexcept { return false; }

    /// Tells all that hear_all() of a database that is a file, in any process. Best effort.
    virtual void touch() noexcept {}

    /// Makes what is told to everybody arrive at that store as poll_again (wake_hub.hpp), and keeps
    /// trying if it cannot yet. Errors: it cannot, or not by `give_up`.
    [[nodiscard]] virtual result<void> hear_all(const listener_id& /*whose*/,
                                                time_point /*give_up*/) {
        return fail(errc::unsupported, "this database tells nobody");
    }

    /// In a child of fork(): leaves what belongs to the parent where it is.
    virtual void forget() noexcept {}
};

}  // namespace holdfast::sql

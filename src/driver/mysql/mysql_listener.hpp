// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/mysql_link.hpp"
#include "lease/tables/listener_thread.hpp"

#include <string>
#include <vector>

/// A connection that sleeps on the server until it is woken: how a store hears from other
/// processes. MySQL has no notifications, and this needs none.
///
/// The connection runs `DO <process>, <store>, SLEEP(…)`. A release that hands a name to one of the
/// store's waiters writes a row to holdfast_handoffs in the same transaction; after the commit it
/// finds the sleeping statement in the list of processes, and ends it by KILL QUERY, which a user
/// may do to statements of its own. The listener then reads the rows.
///
/// Nothing is missed: the statement looks for rows before it sleeps, and it stands in the list of
/// processes before it looks. Either the release finds it there, or it finds the row.
///
/// A process that connects as another user neither sees nor may end it: its handoffs are found at
/// the next poll, within a second.
namespace holdfast::mysql {

class mysql_listener final : public sql::listening_connection {
public:
    /// Copies the options: the thread that uses it may outlive whoever made it.
    explicit mysql_listener(mysql_options options);

    [[nodiscard]] result<void> connect(const sql::listener_id& whose) override;
    void attend(const sql::listener_id& whose, int closing) override;
    void close() noexcept override { link_.close(); }
    [[nodiscard]] const std::string& label() const noexcept override { return link_.label(); }

private:
    /// False: the connection was lost.
    [[nodiscard]] bool sleep_and_read(const sql::listener_id& whose, std::vector<std::string>& ids);
    [[nodiscard]] bool forget_read(std::vector<std::string>& ids);

    const mysql_options options_;
    mysql_link link_;
};

/// How the statement begins that the listener of that store sleeps in.
[[nodiscard]] std::string sleeping_statement(const sql::listener_id& whose);

/// What wakes it, if it sleeps. It fails if it does not.
[[nodiscard]] std::string waking_statements(const sql::listener_id& whose);

}  // namespace holdfast::mysql

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::mysql {

struct server_address {
    std::string host;  ///< A name, an address, or the path of a unix socket.
    std::uint16_t port = 3306;
};

/// Where the database is, and how it is used. Holds a password: never print it whole.
struct mysql_options {
    /// Tried in their order; with several, those that only read are passed over.
    std::vector<server_address> servers{};
    std::string database{};
    std::string user{};      ///< Empty: the user of the process.
    std::string password{};  ///< Empty: MYSQL_PWD, if it is set.
    /// disable, require (encrypts, verifies nothing) or verify-full. Empty: verify-full, but for a
    /// unix socket and this machine's own addresses.
    std::string sslmode{};
    std::string ca_file{};  ///< Empty: the system's certificates.
    std::string certificate_file{};
    std::string key_file{};
    /// Leases are locks of sessions (src/lease/sessions), not rows: no tables, no fence.
    bool session_locks = false;
    /// Make the tables if they are not there.
    bool create = true;
    /// So many connections at most, besides one that listens once something waits. A server allows
    /// 151 for all of its clients, unless it is told otherwise.
    std::size_t connections = 16;
    /// A statement that takes longer is ended by the server. One takes well under a millisecond:
    /// what waits for longer waits for a transaction of somebody who was stopped in its middle.
    duration statement_timeout = std::chrono::seconds(5);
    /// A transaction of ours that stands still for so long is ended by the server (MariaDB), or a
    /// process that was stopped in the middle of one would keep a name locked.
    duration idle_in_transaction_timeout = std::chrono::seconds(5);
    /// So long may it take to connect to one of the servers.
    duration connect_timeout = std::chrono::seconds(5);
};

/// "mysql://db1:3306/app": what errors call it. No user, no password.
[[nodiscard]] std::string label_of(const mysql_options& options);

}  // namespace holdfast::mysql

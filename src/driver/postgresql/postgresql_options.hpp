// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::postgresql {

struct server_address {
    std::string host;  ///< A name, an address, or the directory of a unix socket.
    std::uint16_t port = 5432;
};

/// Where the database is, and how it is used. Holds a password: never print it whole.
struct postgresql_options {
    /// Tried in their order; with several, those that only read are passed over.
    std::vector<server_address> servers{};
    std::string database{};
    std::string user{};      ///< Empty: as libpq chooses, by PGUSER or the user of the process.
    std::string password{};  ///< Empty: as libpq finds it, by PGPASSWORD or the password file.
    /// As libpq's. Empty: verify-full, but for a unix socket and this machine's own addresses.
    std::string sslmode{};
    std::string ca_file{};  ///< sslrootcert. Empty: the system's certificates.
    std::string certificate_file{};
    std::string key_file{};
    /// The schema that the tables are in. Empty: the first of the user's search path.
    std::string schema{};
    /// Leases are locks of sessions (src/lease/sessions), not rows: no tables, no fence.
    bool session_locks = false;
    /// Make the tables if they are not there.
    bool create = true;
    /// A pooler stands between that gives a client one server connection for as long as it is
    /// connected (PgBouncer: pool_mode=session).
    bool pooler_keeps_session = false;
    /// So many connections at most, besides one that listens once something waits. PostgreSQL
    /// allows 100 for all of its clients, unless it is told otherwise.
    std::size_t connections = 16;
    /// A statement that takes longer is ended by the server. One takes well under a millisecond:
    /// what waits for longer waits for a transaction of somebody who was stopped in its middle.
    duration statement_timeout = std::chrono::seconds(5);
    /// A transaction of ours that stands still for so long is ended by the server, or a process
    /// that was stopped in the middle of one would keep a name locked.
    duration idle_in_transaction_timeout = std::chrono::seconds(5);
    /// So long may it take to connect to one of the servers.
    duration connect_timeout = std::chrono::seconds(5);
};

/// "postgresql://db1:5432/app": what errors call it. No user, no password.
[[nodiscard]] std::string label_of(const postgresql_options& options);

}  // namespace holdfast::postgresql

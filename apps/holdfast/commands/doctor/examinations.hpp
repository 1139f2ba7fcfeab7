// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/doctor/finding.hpp"

#include <holdfast/client.hpp>
#include <holdfast/engine/url.hpp>

#include <chrono>
#include <optional>
#include <string>

/// What the doctor looks at; each is a file of its own. They read, and the trial takes and gives
/// back a lease of its own; nothing else is changed.
namespace holdfast::app {

/// What a trial needs to know.
struct trial_plan {
    std::string url;
    std::string where;  ///< For people.
    duration ttl = std::chrono::seconds(5);
    bool in_a_file = false;
};

/// Does a lease work here at all: acquire, list, wait in the queue, be handed it, release? A user
/// with too few permissions fails here. The client is closed at the end.
[[nodiscard]] findings try_a_lease(client on, const trial_plan& plan);

/// All that there is to examine about the engine of a URL.
/// Errors: invalid_argument (the URL), unsupported.
[[nodiscard]] result<findings> examine_engine(const std::string& url_text);

/// Each Redis server behind the URL.
[[nodiscard]] findings examine_redis(const url& where);

/// The PostgreSQL server behind the URL.
[[nodiscard]] findings examine_postgresql(const url& where);

/// The MariaDB or MySQL server behind the URL.
[[nodiscard]] findings examine_mysql(const url& where);
/// Each server of the etcd cluster behind the URL.
[[nodiscard]] findings examine_etcd(const url& where);

/// Each server of the ZooKeeper ensemble behind the URL.
[[nodiscard]] findings examine_zookeeper(const url& where);

/// What keeps the file of sqlite: from being used, if something does: a lease need not be tried.
/// Requires: the path is absolute, and this process has the file not open: closing it here would
/// drop SQLite's locks. So also the next.
[[nodiscard]] std::optional<finding> find_obstacle(const url& where);

/// The file of sqlite:, its directory and its file system.
[[nodiscard]] findings examine_file(const url& where);

}  // namespace holdfast::app

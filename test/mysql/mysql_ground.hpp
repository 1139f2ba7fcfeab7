// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/asked_store.hpp"
#include "support/mariadb_server.hpp"

#include "driver/mysql/mysql_database.hpp"
#include "lease/tables/sql_lease_store.hpp"

#include <gmock/gmock.h>

/// What the cases about MariaDB stand on: a server that they share, and stores on it.
namespace holdfast::test {

inline mariadb_server& shared_mariadb() {
    static mariadb_server shared;
    return shared;
}

inline mysql::mysql_options options_at(std::uint16_t port, const std::string& database = "app") {
    return {.servers = {{"127.0.0.1", port}}, .database = database, .user = "root"};
}

inline std::shared_ptr<sql::sql_lease_store> make_store(mysql::mysql_options options) {
    return std::make_shared<sql::sql_lease_store>(
        std::make_unique<mysql::mysql_database>(std::move(options), system_clock()),
        system_clock());
}

class mysql_store : public asked_store<sql::sql_lease_store> {
public:
    explicit mysql_store(mysql::mysql_options options)
        : asked_store(make_store(std::move(options))) {}
};

// For the cases that every SQL server has (test/sql_server).
using sql_server = mariadb_server;
using sql_store = mysql_store;
inline sql_server& shared_server() {
    return shared_mariadb();
}

}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/mariadb_server.hpp"
#include "support/table_store.hpp"

#include "driver/mysql/mysql_database.hpp"

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

class mysql_store : public table_store {
public:
    explicit mysql_store(mysql::mysql_options options)
        : table_store(std::make_unique<mysql::mysql_database>(std::move(options), system_clock())) {
    }
};

}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/asked_store.hpp"
#include "support/postgres_server.hpp"

#include "driver/postgresql/postgresql_database.hpp"
#include "lease/tables/sql_lease_store.hpp"

#include <gmock/gmock.h>

/// What the cases about PostgreSQL stand on: a server that they share, and stores on it.
namespace holdfast::test {

inline postgres_server& shared_postgres() {
    static postgres_server shared;
    return shared;
}

inline postgresql::postgresql_options options_at(std::uint16_t port,
                                                 const std::string& database = "postgres") {
    return {.servers = {{"127.0.0.1", port}}, .database = database, .user = "postgres"};
}

inline std::shared_ptr<sql::sql_lease_store> make_store(postgresql::postgresql_options options) {
    return std::make_shared<sql::sql_lease_store>(
        std::make_unique<postgresql::postgresql_database>(std::move(options), system_clock()),
        system_clock());
}

class postgresql_store : public asked_store<sql::sql_lease_store> {
public:
    explicit postgresql_store(postgresql::postgresql_options options)
        : asked_store(make_store(std::move(options))) {}
};

// For the cases that every SQL server has (test/sql_server).
using sql_server = postgres_server;
using sql_store = postgresql_store;
inline sql_server& shared_server() {
    return shared_postgres();
}

}  // namespace holdfast::test

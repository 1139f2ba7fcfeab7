// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/postgres_server.hpp"
#include "support/table_store.hpp"

#include "driver/postgresql/postgresql_database.hpp"

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

class postgresql_store : public table_store {
public:
    explicit postgresql_store(postgresql::postgresql_options options)
        : table_store(std::make_unique<postgresql::postgresql_database>(std::move(options),
                                                                        system_clock())) {}
};

}  // namespace holdfast::test

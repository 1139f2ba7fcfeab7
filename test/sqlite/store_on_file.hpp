// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/sqlite/sqlite_connection.hpp"
#include "lease/tables/sql_lease_store.hpp"
#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

/// A store on a SQLite file of the test's own.
namespace holdfast::test {

using namespace std::chrono_literals;

inline std::shared_ptr<sql::sql_lease_store> store_on(const sqlite::sqlite_options& options,
                                                      clock& time = system_clock()) {
    return std::make_shared<sql::sql_lease_store>(
        std::make_unique<sqlite::sqlite_connection>(options, time), time);
}

inline result<lease_reply> ask_of(lease_store& store, const lease_request& request,
                                  clock& time = system_clock()) {
    result<lease_reply> reply;
    store.exchange({&request, 1}, {&reply, 1}, time.now() + 5s);
    return reply;
}

inline bool is_granted(const result<lease_reply>& reply) {
    return reply && std::holds_alternative<answer::granted>(*reply);
}

class on_file : public testing::Test {
protected:
    [[nodiscard]] std::string path(const char* name = "leases.db") const {
        return (folder.path() / name).string();
    }
    [[nodiscard]] static lock_name named(const std::string& text) { return *lock_name::make(text); }
    [[nodiscard]] static owner_token owner() { return owner_token::draw(system_entropy()); }
    [[nodiscard]] static ask::acquire acquiring(const std::string& name, const owner_token& who,
                                                lease_mode mode = {}) {
        return {named(name), who, mode, 10s, ask::when_busy::refuse, {}, 0};
    }

    temporary_directory folder;
};

}  // namespace holdfast::test

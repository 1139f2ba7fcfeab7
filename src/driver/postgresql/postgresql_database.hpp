// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_options.hpp"
#include "lease/tables/listener_thread.hpp"
#include "lease/tables/sql_database.hpp"

#include <string>
#include <vector>

/// A PostgreSQL database as the SQL family uses it: several connections, and one that listens.
namespace holdfast::postgresql {

class postgresql_database final : public sql::database {
public:
    /// Does no I/O. `further` are statements of its connections besides those of the leases; with
    /// them, it hears what is told to everybody.
    postgresql_database(postgresql_options options, clock& time,
                        std::vector<std::string> further = {});

    [[nodiscard]] std::unique_ptr<sql::connection> make_connection() override;
    [[nodiscard]] std::size_t most_connections() const noexcept override {
        return options_.connections;
    }
    [[nodiscard]] bool carries_notes() const noexcept override { return true; }
    [[nodiscard]] result<void> hear(const sql::listener_id& whose, time_point give_up) override;
    [[nodiscard]] bool broadcasts() const noexcept override { return true; }
    [[nodiscard]] result<void> hear_all(const sql::listener_id& whose,
                                        time_point give_up) override {
        return hear(whose, give_up);
    }
    void forget() noexcept override { listener_.forget(); }

private:
    const postgresql_options options_;
    clock& clock_;
    const std::vector<std::string> further_;
    sql::listener_thread listener_;
};

}  // namespace holdfast::postgresql

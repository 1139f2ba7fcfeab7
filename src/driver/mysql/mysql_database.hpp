// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/mysql_options.hpp"
#include "driver/mysql/statement_text.hpp"
#include "lease/tables/listener_thread.hpp"
#include "lease/tables/sql_database.hpp"

#include <span>
#include <string>
#include <vector>

/// A MariaDB or MySQL database as the SQL family uses it: several connections, and one that
/// listens.
namespace holdfast::mysql {

class mysql_database final : public sql::database {
public:
    /// Does no I/O. `further` are statements of its connections besides those of the leases.
    mysql_database(mysql_options options, clock& time, std::span<const std::string> further = {});

    [[nodiscard]] std::unique_ptr<sql::connection> make_connection() override;
    [[nodiscard]] std::size_t most_connections() const noexcept override {
        return options_.connections;
    }
    [[nodiscard]] bool carries_notes() const noexcept override { return true; }
    [[nodiscard]] result<void> hear(const sql::listener_id& whose, time_point give_up) override;
    void forget() noexcept override { listener_.forget(); }

private:
    const mysql_options options_;
    clock& clock_;
    const std::vector<statement_text> further_;
    sql::listener_thread listener_;
};

}  // namespace holdfast::mysql

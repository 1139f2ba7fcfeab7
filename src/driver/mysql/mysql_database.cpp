// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/mysql_database.hpp"

#include "driver/mysql/mysql_connection.hpp"
#include "driver/mysql/mysql_listener.hpp"

#include <utility>

namespace holdfast::mysql {

mysql_database::mysql_database(mysql_options options, clock& time,
                               std::span<const std::string> further)
    : options_(std::move(options)),
      clock_(time),
      further_(further.begin(), further.end()),
      listener_(std::make_unique<mysql_listener>(options_)) {}

std::unique_ptr<sql::connection> mysql_database::make_connection() {
    return std::make_unique<mysql_connection>(options_, clock_, further_);
}

result<void> mysql_database::hear(const sql::listener_id& whose, time_point give_up) {
    return listener_.hear(whose, system_clock().now() + (give_up - clock_.now()));
}

}  // namespace holdfast::mysql

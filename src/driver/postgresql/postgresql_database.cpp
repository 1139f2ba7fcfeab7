// SPDX-License-Identifier: Apache-2.0
#include "driver/postgresql/postgresql_database.hpp"

#include "driver/postgresql/postgresql_connection.hpp"
#include "driver/postgresql/postgresql_listener.hpp"

#include <utility>

namespace holdfast::postgresql {

postgresql_database::postgresql_database(postgresql_options options, clock& time,
                                         std::vector<std::string> further)
    : options_(std::move(options)),
      clock_(time),
      further_(std::move(further)),
      listener_(std::make_unique<postgresql_listener>(
          options_, further_.empty() ? postgresql_listener::hears::its_own
                                     : postgresql_listener::hears::broadcasts_too)) {}

std::unique_ptr<sql::connection> postgresql_database::make_connection() {
    return std::make_unique<postgresql_connection>(options_, clock_, further_);
}

result<void> postgresql_database::hear(const sql::listener_id& whose, time_point give_up) {
    return listener_.hear(whose, system_clock().now() + (give_up - clock_.now()));
}

}  // namespace holdfast::postgresql

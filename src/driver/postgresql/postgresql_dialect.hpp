// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/tables/sql_statements.hpp"

#include <string>
#include <vector>

/// What PostgreSQL says in other words than SQLite, and the tables as it makes them.
namespace holdfast::postgresql {

[[nodiscard]] const sql::dialect& postgresql_dialect();

/// Makes the tables, if they are not there. To be run as one transaction.
[[nodiscard]] std::vector<std::string> make_tables();

}  // namespace holdfast::postgresql

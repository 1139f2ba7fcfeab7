// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/statement_text.hpp"
#include "lease/tables/sql_statements.hpp"

#include <string>
#include <vector>

/// What MariaDB and MySQL say in other words than SQLite, and the tables as they make them.
namespace holdfast::mysql {

[[nodiscard]] const sql::dialect& mysql_dialect();

/// Every statement. One without a text has none here.
[[nodiscard]] const statement_text& text_of(sql::sentence what);

/// Makes the tables, if they are not there. The last one says that they all are.
[[nodiscard]] std::vector<std::string> make_tables();

}  // namespace holdfast::mysql

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/mysql_link.hpp"

/// Whether the tables are there and are those of this version; makes them if they are not there.
namespace holdfast::mysql {

/// Errors: denied, if they may not be made or read; unsupported, if they are another version's.
[[nodiscard]] result<void> check_tables(mysql_link& link, const mysql_options& options,
                                        time_point deadline);

}  // namespace holdfast::mysql

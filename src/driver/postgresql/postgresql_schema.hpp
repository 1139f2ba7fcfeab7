// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_link.hpp"

/// Whether the tables are there and are those of this version; makes them if they are not there.
namespace holdfast::postgresql {

/// Errors: denied, if they may not be made or read; unsupported, if they are another version's.
[[nodiscard]] result<void> check_tables(postgresql_link& link, const postgresql_options& options,
                                        time_point deadline);

}  // namespace holdfast::postgresql

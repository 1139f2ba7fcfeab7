// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/mysql/mysql_options.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/error.hpp>

/// What a mysql: URL says.
namespace holdfast::detail {

/// Reads the password from password_file or password_env, if the URL says so.
/// Errors: invalid_argument, naming the option and what it takes.
[[nodiscard]] result<mysql::mysql_options> read_mysql_url(const url& where);

}  // namespace holdfast::detail

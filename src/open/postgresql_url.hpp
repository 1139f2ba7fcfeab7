// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/postgresql/postgresql_options.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/error.hpp>

/// What a postgresql: URL says.
namespace holdfast::detail {

/// Reads the password from password_file or password_env, if the URL says so.
/// Errors: invalid_argument, naming the option and what it takes.
[[nodiscard]] result<postgresql::postgresql_options> read_postgresql_url(const url& where);

}  // namespace holdfast::detail

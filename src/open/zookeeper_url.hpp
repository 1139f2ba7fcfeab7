// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_options.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/error.hpp>

namespace holdfast::detail {

/// What a zookeeper: URL says. Errors: invalid_argument, unsupported (TLS).
[[nodiscard]] result<zookeeper::zookeeper_options> read_zookeeper_url(const url& where);

}  // namespace holdfast::detail

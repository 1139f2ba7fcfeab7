// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_options.hpp"

#include <holdfast/engine/url.hpp>
#include <holdfast/error.hpp>

namespace holdfast::detail {

/// What an etcd: or etcds: URL says. Errors: invalid_argument.
[[nodiscard]] result<etcd::etcd_options> read_etcd_url(const url& where);

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_options.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/command_engine.hpp>
#include <holdfast/entropy.hpp>

#include <memory>

/// Redis commands on keys in an etcd cluster, for traffic control (etcd_key_store.hpp).
namespace holdfast::etcd {

/// Connects to nothing yet. Errors: invalid_argument (a certificate that cannot be read).
[[nodiscard]] result<std::shared_ptr<command_engine>> make_etcd_commands(etcd_options options,
                                                                         clock& time,
                                                                         entropy& chance);

}  // namespace holdfast::etcd

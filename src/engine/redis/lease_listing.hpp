// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/redis/lease_commands.hpp"

#include <holdfast/command_engine.hpp>

#include <string_view>
#include <vector>

/// Who holds what, read from the keys without holding up the server: SCAN in small steps, then the
/// values in batches. A Cluster is asked master by master.
namespace holdfast {

[[nodiscard]] result<std::vector<lease_info>> list_leases(command_engine& engine,
                                                          const command_lease_options& options,
                                                          std::string_view prefix,
                                                          time_point give_up);

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/lease_commands.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <optional>
#include <string_view>
#include <vector>

/// Who holds what and who waits for it, read from the keys without holding up the server: SCAN in
/// small steps, then the values in batches. A Cluster is asked master by master.
namespace holdfast {

[[nodiscard]] result<std::vector<lease_info>> list_leases(command_engine& engine,
                                                          const command_lease_options& options,
                                                          std::string_view prefix,
                                                          time_point give_up);

/// One name, with its line. Nothing if it is neither held nor waited for.
[[nodiscard]] result<std::optional<lease_info>> inspect_lease(command_engine& engine,
                                                              const command_lease_options& options,
                                                              const lock_name& name,
                                                              time_point give_up);

}  // namespace holdfast

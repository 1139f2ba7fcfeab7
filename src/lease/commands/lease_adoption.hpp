// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/lease_commands.hpp"

#include <holdfast/engine/command_engine.hpp>

/// A lease that gets another owner: one script, which may be repeated.
namespace holdfast {

[[nodiscard]] result<lease_reply> adopt_lease(command_engine& engine,
                                              const command_lease_options& options,
                                              const lease_adoption& asked, time_point give_up);

}  // namespace holdfast

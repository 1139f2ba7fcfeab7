// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/lease_commands.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <string_view>
#include <vector>

/// A name taken from its holder by an operator's word.
///
/// One script ends the lease, writes the reason where the holder's next renewal or release finds
/// it, tells the holder's channel, and hands the name over. It is never sent twice.
namespace holdfast {

/// `channels` is what any client's channel for this name begins with. Answers how many held it.
[[nodiscard]] result<std::uint32_t> evict_holder(command_engine& engine,
                                                 const command_lease_options& options,
                                                 const lock_name& name, std::string_view reason,
                                                 std::string_view channels, time_point give_up);

/// Those from whom it was taken, as long as that is kept.
[[nodiscard]] result<std::vector<eviction_info>> list_evictions(
    command_engine& engine, const command_lease_options& options, const lock_name& name,
    time_point give_up);

}  // namespace holdfast

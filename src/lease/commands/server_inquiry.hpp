// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/commands/known_servers.hpp"
#include "lease/commands/lease_commands.hpp"

#include <holdfast/engine/command_engine.hpp>

#include <string_view>

/// Asks a server for how long it has been the one that it is, beside what is stored in one slot.
///
/// Two witnesses. In a Cluster, the note in the first slot that the server serves: every client
/// that is refused writes or reads it, so one that saw the promotion speaks for all. And the age of
/// the connections of its replicas: a promotion ends all of them, so the server was promoted before
/// the oldest of them was made.
namespace holdfast {

/// Whether a server's quarantine must be over although it says that it is in it: by what is known
/// of it, and if that is not enough, by asking both witnesses. False for an empty name.
/// Blocks: for half a second at most, and not beyond `give_up`.
[[nodiscard]] bool is_over(command_engine& engine, const command_lease_options& options,
                           const lock_name& name, std::string_view server, known_servers& known,
                           time_point give_up);

/// The key of the note in the first slot that is served where `lock` is, for server_age.lua …
[[nodiscard]] std::string_view common_note(const command_engine& engine, std::string_view lock);

/// … with this window, since it must prove more than the quarantine …
[[nodiscard]] inline std::int64_t asked_age_ms(const command_lease_options& options) {
    return to_ms(2 * options.quarantine);
}

/// … and what that has answered.
void hear_age(known_servers& known, const reply& told, time_point now);

}  // namespace holdfast

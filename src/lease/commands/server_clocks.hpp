// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/clock_watch.hpp"

#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/lease_store.hpp>
#include <holdfast/engine/reply.hpp>

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The clocks of the servers that renewals were sent to.
///
/// Each renewal brings back the server's TIME, and so does each new connection, if there is only
/// one server to connect to. In a Cluster a slot may be at any master: each slot is watched by
/// itself, from its first renewal on.
namespace holdfast {

class lease_commands;
struct command_lease_options;

/// What TIME answers; nothing if it is something else.
[[nodiscard]] std::optional<wall_time> time_told(std::span<const reply> parts);

/// Thread safety: all members may be called from any thread.
class server_clocks {
public:
    /// By how much the clock was set; see clock_watch::see().
    [[nodiscard]] duration see(unsigned slot, const detail::clock_watch::sample& now,
                               duration allowed);

    /// What a server answered to a command at connect, if that was its time.
    void greet(const reply& answer, time_point sent, time_point heard);

private:
    std::mutex mutex_;
    std::map<unsigned, detail::clock_watch> by_slot_;  // at most as many as there are slots
};

/// The commands at connect that tell the time of a server, unless raise_fence_command() does.
[[nodiscard]] std::vector<std::string> time_command();

/// Writes into the answer to a renewal whether the server's clock was set, if clocks are watched.
void note_clock(const command_lease_options& options, const lease_commands& said,
                const lease_request& request, time_point sent, const clock& time,
                result<lease_reply>& meant);

}  // namespace holdfast

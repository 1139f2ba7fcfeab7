// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/doctor/finding.hpp"

#include <holdfast/client_statistics.hpp>
#include <holdfast/lease_info.hpp>
#include <holdfast/push/logic.hpp>
#include <holdfast/push/room_board.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// What an operator sees at one moment, as values.
namespace holdfast::app {

struct ops_room {
    push::room_state state;
    push::room_record counted;
    duration cooldown{};  ///< What the settings say.
    duration stuck{};     ///< For how long messages wait and none was broadcast.
    std::string lock;     ///< The name of its lease.
};

/// What this process counted in the last seconds.
struct ops_recent {
    std::uint64_t frames = 0;
    std::uint64_t failures = 0;
    std::uint64_t closed_slow = 0;
    std::uint64_t fenced = 0;
    std::uint64_t lost = 0;
};

struct ops_view {
    /// Why the engine did not answer; empty if it did.
    std::string engine_error;
    duration lock_life{};
    std::vector<ops_room> rooms;  ///< Newest first.
    bool more_rooms = false;
    std::vector<lease_info> locks;
    bool more_locks = false;
    std::uint64_t queue = 0;
    duration queue_stuck{};  ///< For how long the queue is not empty and nothing was broadcast.
    ops_recent recent;
    client_statistics leases;
    findings health;
};

}  // namespace holdfast::app

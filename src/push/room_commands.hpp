// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "push/consumer_plan.hpp"
#include "push/push_scripts.hpp"
#include "push/room_keys.hpp"

#include <holdfast/engine/reply.hpp>
#include <holdfast/push/frame.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The commands of live push about one room, and what their answers mean. No I/O.
namespace holdfast::push {

/// `ids` are those of the messages; the token tells a repetition of this call from a duplicate.
[[nodiscard]] owned_call admit_call(const settings& s, const post& p,
                                    const std::vector<std::string>& ids,
                                    const std::string& fresh_epoch, const std::string& token);

[[nodiscard]] owned_call look_call(const settings& s, const std::string& room);
[[nodiscard]] std::optional<room_view> read_look(const reply& answer);

[[nodiscard]] owned_call broadcast_call(const settings& s, const std::string& room,
                                        const broadcast_order& order, std::uint64_t fence);
[[nodiscard]] std::optional<broadcast_answer> read_broadcast(const reply& answer);

/// XREADGROUP's and XAUTOCLAIM's list of entries; what is not ours is left out.
[[nodiscard]] std::vector<queue_entry> read_entries(const reply& list);

/// A read behind a position, of what was broadcast.
struct read_order {
    std::string epoch;  // empty: none is known
    std::uint64_t after = 0;
    std::size_t most = 0;
    /// Broadcasts up to `after` were seen: less than that means that the engine lost some.
    bool seen = false;
    /// The epoch that begins then.
    std::string fresh_epoch;
};

struct read_answer {
    std::string epoch;  // empty: there is no such room yet
    std::uint64_t cursor = 0;
    std::uint64_t tail = 0;
    std::uint64_t floor = 0;  // nothing is left up to here
    std::uint64_t last = 0;   // up to where it was read
    std::vector<frame_message> messages;
};

[[nodiscard]] owned_call read_call(const settings& s, const std::string& room,
                                   const read_order& order);
[[nodiscard]] std::optional<read_answer> read_room(const reply& answer);

}  // namespace holdfast::push

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/ordered/queue_entry.hpp"

#include <holdfast/engine/lease_request.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

/// Who holds a name whose entries stand in order, and what the others wait for: pure.
///
/// Nothing is handed over and nothing says "holder": an entry holds the name as soon as those
/// before it leave room. An exclusive one needs all before it gone; a shared one all exclusive
/// ones; permits that all before it and itself are no more than there are. Nobody comes in before
/// an entry, because positions only grow. So those before it only become fewer, and whoever has
/// seen that it holds the name holds it until its own entry goes.
///
/// That is also why entries are served in their order, and why fences grow from holder to holder:
/// the fence is the position, times a constant.
namespace holdfast::ordered {

/// The entries of one name, in the order of their positions.
class queue_order {
public:
    static constexpr std::uint32_t most_waiters = 1000;

    explicit queue_order(std::vector<queue_entry> entries);

    [[nodiscard]] const std::vector<queue_entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] const queue_entry* find(const owner_token& owner) const;

    /// Requires: `entry` is one of entries().
    [[nodiscard]] bool holds(const queue_entry& entry) const;
    /// Would one that came now hold the name at once?
    [[nodiscard]] bool has_room_for(const lease_mode& mode) const;
    /// The waiters before it; all, for one that is not there.
    [[nodiscard]] std::uint32_t waiters_before(const queue_entry* entry) const;
    /// The largest fence of a holder; 0 if nobody holds the name.
    [[nodiscard]] fencing_token latest_fence() const;

    /// The entry that a waiter watches: the last one that has to go, so that one that leaves wakes
    /// one other. Nothing for permits: any one before it may make room, so it watches them all.
    /// Requires: `entry` is one of entries() and does not hold the name.
    [[nodiscard]] const queue_entry* blocker_of(const queue_entry& entry) const;

    /// A name is not held by permits and in another way at once: whoever comes later is refused,
    /// so those behind the asker's entry do not matter. And a sharer cannot become the writer.
    [[nodiscard]] std::optional<error> unfit(const ask::acquire& asked) const;

private:
    [[nodiscard]] bool has_room_before(std::size_t place, const lease_mode& mode) const;

    std::vector<queue_entry> entries_;
};

}  // namespace holdfast::ordered

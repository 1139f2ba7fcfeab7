// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/names.hpp>

#include <cstdint>
#include <string>
#include <variant>

/// What is asked of a lease store, and what it answers, as values.
namespace holdfast {

/// A waiter's place in line, as the engine gave it. Handed back at the next look, so that the place
/// is kept even if the engine forgot the line. 0: not in line yet.
struct queue_ticket {
    std::uint64_t value = 0;
    friend auto operator<=>(const queue_ticket&, const queue_ticket&) = default;
};

namespace ask {

/// What to do when someone else holds it.
enum class when_busy : std::uint8_t { refuse, join_queue };

/// Grants the name to the owner, or (again) says who has it first. Repeating it for an owner that
/// holds the name renews, and answers a fence of this holder's: never below the one before. An
/// owner that shares it cannot hold it exclusively before it lets go, and a name is not held by
/// permits and in another mode at once: both are invalid_argument.
struct acquire {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    duration ttl;
    when_busy otherwise = when_busy::refuse;
    queue_ticket ticket;
    /// How many further fences to reserve after the granted one, for passing the lease on locally.
    std::uint32_t spare_fences = 0;
    /// Takes a free name before those in line, and leaves it to the quickest when it is told that
    /// the name is free. More throughput, no fairness.
    bool barge = false;
    /// Not 0: the owner holds the name exclusively, with this fence, and wants to share it from now
    /// on. It keeps its fence, and those in line who share come in at once. `lost` if it does not
    /// hold the name; an engine that cannot tell answers a higher fence.
    fencing_token turns = {};
    /// The engine may know this owner from an earlier request, whose answer was lost or was no
    /// grant: it may stand in line, or hold the name.
    bool again = false;
};

/// Makes the lease run for `ttl` from now, if the owner still holds it. Never shortens it.
struct renew {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    duration ttl;
    /// As granted, for whoever lists the names. 0: not told.
    fencing_token fence = {};
    /// Every fence that is given for the name from now on is above this one, if the answer says
    /// `floored`. 0: as they come. A quorum asks for it, whose fence may be another server's.
    fencing_token floor = {};
};

/// Ends the owner's lease and hands the name to the next in line.
struct release {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    /// Ends only a grant whose fence is not above this one, so that it cannot end a later grant of
    /// the same owner, however late it comes. 0: whatever the owner holds.
    fencing_token only = {};
};

/// Ends whatever the owner has here: its place in line, or a lease that was handed to it meanwhile.
struct leave {
    lock_name name;
    owner_token owner;
    lease_mode mode;
};

}  // namespace ask

/// How far the engine's time of day was set forward, or (negative) back, as our clock can tell.
struct clock_step {
    duration by = duration::zero();
    /// Leases that were not renewed since may be over on the engine before their time.
    bool endangers = false;
};

namespace answer {

struct granted {
    fencing_token fence;
    duration ttl;
};

/// Someone else holds it. For a waiter: when to look again if no grant has been pushed by then.
struct busy {
    duration poll_after;
    std::uint32_t ahead = 0;
    queue_ticket ticket;
    /// No fence above this one had been given for the name when this was answered; 0 if the engine
    /// cannot say. A push with a fence not above it is older than this answer: it travelled slower
    /// and means nothing now.
    fencing_token latest;
};

struct renewed {
    duration ttl;
    /// False: the floor (ask::renew) was not taken: it is too far ahead of the engine's clock.
    bool floored = true;
    clock_step clock = {};
};

/// Released or left; `found` is false if there was nothing (any more).
struct released {
    bool found = true;
};

/// The owner does not hold the name (any more).
struct lost {
    /// The words of whoever evicted it; empty if nobody did.
    std::string reason;
    clock_step clock = {};
};

}  // namespace answer

using lease_request = std::variant<ask::acquire, ask::renew, ask::release, ask::leave>;

/// For how long a request makes a lease run; zero for one that ends it.
[[nodiscard]] duration ttl_of(const lease_request& request) noexcept;

/// `lost` comes first, so that an answer nobody filled in means that nothing is held.
using lease_reply =
    std::variant<answer::lost, answer::granted, answer::busy, answer::renewed, answer::released>;

}  // namespace holdfast

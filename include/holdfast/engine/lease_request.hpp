// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/holder_note.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/names.hpp>

#include <cstdint>
#include <string>
#include <variant>

/// The requests to a lease store, and its answers, as values.
namespace holdfast {

/// A waiter's position in the queue, from the engine. Sent with the next poll, so that the position
/// is kept even if the engine forgot the queue. 0: not in the queue yet.
struct queue_ticket {
    std::uint64_t value = 0;
    friend auto operator<=>(const queue_ticket&, const queue_ticket&) = default;
};

namespace ask {

/// What to do when somebody else holds it.
enum class when_busy : std::uint8_t { refuse, join_queue };

/// Grants the name to the owner, or returns `busy`. Repeating it for an owner that holds the name
/// renews, and returns a fence of this holder: never below the one before. An owner that shares the
/// name must release it before it can hold it exclusively, and a name is not held by permits and in
/// another mode at once: both are invalid_argument.
struct acquire {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    duration ttl;
    when_busy otherwise = when_busy::refuse;
    queue_ticket ticket;
    /// How many further fences to reserve after the granted one, for passing the lease on locally.
    std::uint32_t spare_fences = 0;
    /// Takes a free name ahead of the queue, and as a waiter is only notified that the name is
    /// free, and must compete. More throughput, no fairness.
    bool barge = false;
    /// The engine may know this owner from an earlier request, whose answer was lost or was no
    /// grant: it may be in the queue, or hold the name.
    bool again = false;
    /// Not 0: the owner holds the name exclusively, with this fence, and wants to share it from now
    /// on. It keeps its fence, and waiting sharers are admitted at once. `lost` if it does not hold
    /// the name; an engine that cannot tell returns a higher fence.
    fencing_token turns = {};
    /// If it is set, it is stored with the grant, for listings.
    holder_note note = {};
};

/// Extends the lease to `ttl` from now, if the owner still holds it. Never shortens it.
struct renew {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    duration ttl;
    /// As granted, for listings. 0: unknown.
    fencing_token fence = {};
    /// Every fence that is granted for the name from now on is above this one, if the answer is
    /// `floored`. 0: no floor. A quorum uses it, whose fence may be another server's.
    fencing_token floor = {};
    /// As in acquire: it replaces the one before, if it is set.
    holder_note note = {};
};

/// Ends the owner's lease and hands the name to the next waiter.
struct release {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    /// Ends only a grant whose fence is not above this one, so that it cannot end a later grant of
    /// the same owner, however late it comes. 0: any grant of the owner.
    fencing_token only = {};
    /// The owner has left a note: it is forgotten, too.
    bool has_note = false;
};

/// Removes the owner: from the queue, or its lease if it was handed off meanwhile.
struct leave {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    /// As in release.
    bool has_note = false;
};

}  // namespace ask

/// How far the engine's time of day was set forward, or (negative) back, as our clock can tell.
struct clock_step {
    duration by = duration::zero();
    /// Leases that were not renewed since may end early on the engine.
    bool endangers = false;
};

namespace answer {

struct granted {
    fencing_token fence;
    duration ttl;
};

/// Somebody else holds it. For a waiter: when to poll if no grant has been pushed by then.
struct busy {
    duration poll_after;
    std::uint32_t ahead = 0;
    queue_ticket ticket;
    /// No fence above this one had been granted for the name when this was answered; 0 if the
    /// engine cannot tell. A push with a fence not above it is older than this answer, and must be
    /// ignored.
    fencing_token latest;
};

struct renewed {
    duration ttl;
    /// False: the floor (ask::renew) was refused: it is too far ahead of the engine's clock.
    bool floored = true;
    clock_step clock = {};
};

/// Released or left; `found` is false if there was nothing (any more).
struct released {
    bool found = true;
};

/// The owner does not hold the name (any more).
struct lost {
    /// The reason of an eviction; empty if it was not evicted.
    std::string reason;
    clock_step clock = {};
};

}  // namespace answer

using lease_request = std::variant<ask::acquire, ask::renew, ask::release, ask::leave>;

/// Returns how long a request extends a lease; zero for one that ends it.
[[nodiscard]] duration ttl_of(const lease_request& request) noexcept;

/// `lost` comes first, so that a default answer means that nothing is held.
using lease_reply =
    std::variant<answer::lost, answer::granted, answer::busy, answer::renewed, answer::released>;

}  // namespace holdfast

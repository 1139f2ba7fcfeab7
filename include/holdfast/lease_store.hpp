// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lease_info.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/names.hpp>
#include <holdfast/push_wait.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The lease seam: "carry out these lease requests". Every engine implements it.
///
/// It is a narrow waist of values. A request carries everything it needs and is idempotent by
/// (name, owner), so a retry after a lost reply is safe; a batch is a span; a quorum is a store
/// made of stores; and a simulator can lose, delay and repeat the same values.
namespace holdfast {

/// A waiter's place in line, as the engine gave it. Handed back at the next look, so that the place
/// is kept even if the engine forgot the line. 0: not in line yet.
struct line_ticket {
    std::uint64_t value = 0;
    friend auto operator<=>(const line_ticket&, const line_ticket&) = default;
};

namespace ask {

/// What to do when someone else holds it.
enum class when_busy : std::uint8_t { refuse, stand_in_line };

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
    line_ticket ticket;
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
    /// Every fence that is given for the name from now on is above this one. 0: as they come. A
    /// quorum asks for it, whose fence may be another server's.
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

namespace answer {

struct granted {
    fencing_token fence;
    duration ttl;
};

/// Someone else holds it. For a waiter: when to look again if no grant has been pushed by then.
struct busy {
    duration look_after;
    std::uint32_t ahead = 0;
    line_ticket ticket;
    /// No fence above this one had been given for the name when this was answered; 0 if the engine
    /// cannot say. A push with a fence not above it is older than this answer: it travelled slower
    /// and means nothing now.
    fencing_token latest;
};

struct renewed {
    duration ttl;
};

/// Released or left; `found` is false if there was nothing (any more).
struct released {
    bool found = true;
};

/// The owner does not hold the name (any more).
struct lost {
    /// The words of whoever evicted it; empty if nobody did.
    std::string reason;
};

}  // namespace answer

using lease_request = std::variant<ask::acquire, ask::renew, ask::release, ask::leave>;
/// `lost` comes first, so that an answer nobody filled in means that nothing is held.
using lease_reply =
    std::variant<answer::lost, answer::granted, answer::busy, answer::renewed, answer::released>;

/// Pushed by the engine: the lease was handed to this waiter, at some moment after the waiter's
/// last answered look, for `ttl` from that moment. A `ttl` of zero: nothing is held yet, ask now.
struct handed_over {
    owner_token owner;
    fencing_token fence;
    duration ttl;
};

/// Pushed by the engine: what this owner held was taken away by someone's word (see evict()). Only
/// the quick way to tell: one that is missed is told by the next renewal.
struct evicted {
    owner_token owner;
    std::string reason;
};

/// Pushed by the engine: something may have been missed, so every waiter should look now.
struct look_again {};

using lease_push = std::variant<handed_over, look_again, evicted>;

/// What an engine can do, known before the call.
struct capabilities {
    bool shared = false;   ///< Shared mode.
    bool permits = false;  ///< Permits k of n …
    bool resize = false;   ///< … and resize() changes n for all.
    bool fencing = false;  ///< Grants carry a fence that strictly grows.
    bool fair = false;     ///< First come, first served.
    bool pushes = false;   ///< A release wakes the next one; otherwise waiters look again.
    bool listing = false;  ///< list() answers.
    /// A holder that has waited for something before is told at once if it is evicted; otherwise it
    /// learns it at its next renewal.
    bool eviction_pushes = false;
};

/// Thread safety: all members may be called from any thread.
class lease_store {
public:
    using push_handler = std::function<void(const lease_push&)>;
    using reply_handler = std::function<void(std::size_t index, result<lease_reply>)>;

    virtual ~lease_store() = default;

    [[nodiscard]] virtual capabilities can() const noexcept = 0;

    /// Carries out each request; one trip where the engine allows it; each has its own outcome.
    /// Requests about one name in one call are carried out in no particular order.
    /// Blocks: until all are answered, at most until `give_up`.
    /// Requires: replies.size() == requests.size().
    virtual void exchange(std::span<const lease_request> requests,
                          std::span<result<lease_reply>> replies, time_point give_up) = 0;

    /// The same without waiting. `on_reply` is called once for each request, as its answer comes:
    /// a shard that is silent does not hold up another. It may be called before this returns, must
    /// be short, and is called on the engine's thread or this one.
    virtual void submit(std::vector<lease_request> requests, time_point give_up,
                        reply_handler on_reply);

    /// Who is told of pushes; set once, before the first request. Called on the engine's thread.
    virtual void on_push(push_handler handler) = 0;

    /// As command_engine::hear_pushes(), for a thread that waits for the push of its grant.
    [[nodiscard]] virtual bool hear_pushes(const push_wait& wait);

    /// The engine's time of day. Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<wall_time> time_of_day(time_point give_up);

    /// Who is asking, for whoever lists the names; told once, before the first request. The store
    /// may write it down when it first has to. `id` is in each of this client's owners.
    virtual void introduce(const client_id& id, const client_label& who);

    /// The names that start with `prefix` and are held now, in the order of names.
    [[nodiscard]] virtual result<std::vector<lease_info>> list(std::string_view prefix,
                                                               time_point give_up) = 0;

    /// One name with its holders and its whole line; nothing if it is neither held nor waited for.
    /// Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<std::optional<lease_info>> inspect(const lock_name& name,
                                                                    time_point give_up);

    /// Changes how many permits the name has, for all who use it, until nobody has for a week.
    /// Nobody loses any; those in line get at once what there is more.
    /// Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<void> resize(const lock_name& name, std::uint32_t permits,
                                              time_point give_up);

    /// Takes the name from whoever holds it, by an operator's word, and hands it to the next in
    /// line. Those who held it learn the reason at their next renewal at the latest; until then
    /// they believe in it, and only their fences stop them. Answers how many held it. Not to be
    /// repeated when the outcome is unknown: it would take the name from the next one.
    /// Requires: fit_reason(reason).
    /// Errors: unsupported, unavailable, outcome_unknown, …
    [[nodiscard]] virtual result<std::uint32_t> evict(const lock_name& name,
                                                      std::string_view reason, time_point give_up);

    /// Those from whom the name was taken so and who may not have heard of it yet: they are kept
    /// for about as long as their leases would have run, some engines a minute more.
    /// Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                                       time_point give_up);
};

}  // namespace holdfast

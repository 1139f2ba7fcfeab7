// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/lease_store.hpp>

#include <optional>
#include <variant>

/// One acquisition, as a machine without I/O.
///
/// Everything that can happen is an event with the time it happened; every answer is the one thing
/// to do next. A runtime with threads drives it, and a simulator can drive the same code on virtual
/// time.
///
///     asking ──granted──────────────────────────────▶ finish(grant)
///       │  ╰──busy, not waiting────────────────────▶ finish(busy)
///       busy                      ╭──look── time to look, or told to
///       ▼                         ▼
///     waiting ──handed off (asks again if little of the grant is left)──▶ finish(grant)
///       │
///       time is up, or cancelled, or the engine's answer came too late
///       ▼
///     leaving ─────────────────────────────────────▶ finish(why)
///
/// Invariants: one owner for the whole acquisition, so that any request may be repeated; a grant is
/// believed from the moment before the request that it answers was sent, and a handed-off one from
/// the moment before the last answered look, which its fence proves it came after; whatever ends
/// without a grant either has left the queue or says in `finish::leftover` that the leaving must go
/// on in the background.
namespace holdfast::detail {

struct acquire_plan {
    lock_name name;
    owner_token owner;
    lease_mode mode;
    duration ttl;
    /// Until when to wait; time_point::min() asks once.
    time_point wait_until;
    /// How long one request may take.
    duration request_timeout;
    /// Fences to reserve after the granted one.
    std::uint32_t spare_fences = 0;
    /// Does not respect the queue.
    bool barge = false;
    /// What clocks may drift apart over a ttl; none: the usual share of it.
    std::optional<duration> drift = {};
    /// Spreads retries of many clients: 0 to 255.
    std::uint8_t jitter = 0;
    /// It has waited behind others of its client before.
    bool waited = false;
    /// What the holder will say of itself.
    holder_note note = {};
};

/// What was granted, and how long it may be believed.
struct grant {
    fencing_token fence;
    time_point valid_until;
    time_point renew_at;
    bool waited = false;
    bool handed_off = false;
    bool adopted = false;
    /// Requests that were sent and never answered: each may be carried out until `doubt_until`.
    std::uint32_t doubts = 0;
    time_point doubt_until = time_point::min();
};

class acquire_machine {
public:
    struct send {
        lease_request request;
        time_point give_up;
    };
    struct sleep {
        time_point until;
    };
    struct finish {
        result<grant> outcome;
        /// The engine may still know our owner: go on sending `leave` in the background.
        bool leftover = false;
        /// As in grant: how often the `leave` must find something.
        std::uint32_t doubts = 0;
    };
    using action = std::variant<send, sleep, finish>;

    explicit acquire_machine(acquire_plan plan);

    [[nodiscard]] const acquire_plan& plan() const noexcept { return plan_; }
    [[nodiscard]] bool waits_in_queue() const noexcept;

    // Events. `start` comes first; after `send`, `on_reply` comes exactly once; after `sleep`, one
    // of the others. None comes after `finish`.
    [[nodiscard]] action start(time_point now);
    [[nodiscard]] action on_reply(result<lease_reply> reply, time_point now);
    [[nodiscard]] action on_wake(time_point now);
    [[nodiscard]] action on_handoff(const handed_off& given, time_point now);
    [[nodiscard]] action on_poll_again(time_point now);
    [[nodiscard]] action on_cancel(time_point now);

private:
    enum class phase : std::uint8_t { asking, waiting, leaving };

    [[nodiscard]] action ask(time_point now);
    [[nodiscard]] action leave(error why, time_point now);
    [[nodiscard]] action wait(time_point until);
    [[nodiscard]] action granted(const answer::granted& given, time_point now);
    [[nodiscard]] action busy(const answer::busy& seen, time_point now);
    [[nodiscard]] action failed(error why, time_point now);
    [[nodiscard]] action left(const result<lease_reply>& reply);
    [[nodiscard]] error out_of_time() const;
    [[nodiscard]] error waited_in_vain() const;

    acquire_plan plan_;
    phase phase_ = phase::asking;
    queue_ticket ticket_;
    fencing_token latest_;
    time_point sent_;
    time_point wake_at_;
    /// The moment before the last answered look: nothing was ours then.
    time_point not_before_;
    std::optional<error> trouble_;
    std::optional<error> why_leaving_;
    duration pause_{};
    bool waited_ = false;
    /// The engine may know our owner: it answered so, or may have and we did not hear it.
    bool maybe_there_ = false;
    bool asked_again_ = false;
    /// Requests that may have been sent and were not answered, and until when one may come late.
    std::uint32_t doubts_ = 0;
    time_point doubt_until_ = time_point::min();
};

}  // namespace holdfast::detail

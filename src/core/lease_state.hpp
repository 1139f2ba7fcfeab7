// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/validity.hpp"

#include <holdfast/engine/lease_store.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/observer.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

/// One holding of one name, as its handle and its keeper share it.
///
/// The handle reads it from any thread without a lock; the keeper moves the deadline. The status
/// leaves held/jeopardy exactly once, by `end()`: whoever wins that race (release, loss, close)
/// speaks for the lease.
namespace holdfast::detail {

/// Tells of a loss. Made when somebody first wants to hear of it: most leases end before that.
class loss_signal {
public:
    [[nodiscard]] std::stop_source& source() const {
        std::call_once(made_, [this] { source_ = std::stop_source(); });
        return source_;
    }

    /// Who listens to the other one listens to this one, too. Requires: source() was never called.
    void share(const loss_signal& other) {
        std::call_once(made_, [&] { source_ = other.source(); });
    }

private:
    mutable std::once_flag made_;
    mutable std::stop_source source_{std::nostopstate};
};

struct lease_state {
    lease_state(lock_name n, owner_token o, lease_mode m, duration t, fencing_token f)
        : name(std::move(n)), owner(o), mode(m), ttl(t), fence(f) {}

    const lock_name name;
    const owner_token owner;
    const lease_mode mode;
    std::atomic<duration> ttl;
    const fencing_token fence;

    std::atomic<time_point> deadline{time_point::min()};
    std::atomic<lease_status> status{lease_status::held};
    std::atomic<loss_reason> reason{loss_reason::none};
    std::string loss_text;  ///< Written once, before the reason becomes `evicted`.
    loss_signal lost;
    unsigned fork_generation = 0;
    time_point since = time_point::min();  ///< When it was granted.
    /// Set before it is handed out.
    time_point hold_end = time_point::max();
    /// As acquire_options says it.
    std::optional<duration> drift = {};
    /// Whether the keeper renews it. If not, it is asked whether it is still ours, and no more.
    bool renews = true;
    /// Runs for the whole ttl already: what is handed off or passed on has to be made to. The
    /// holder's own renewal sets it while the keeper prepares one.
    std::atomic<bool> whole{true};
    /// Who wants to hear of this lease alone; null for nobody.
    std::shared_ptr<const lease_observer> listener = {};
    /// What the holder says of itself.
    holder_note note = {};
    /// Requests for it that may be carried out late, until then: see leave_queue.hpp.
    std::uint32_t doubts = 0;
    time_point doubt_until = time_point::min();
    /// How often this lease may still be passed on inside the process.
    std::uint32_t passes_left = 0;
    /// It was made to be passed on, so the others of its client wait for its end, not the engine's.
    bool occupies_queue = false;

    // The keeper's notes; guarded by whatever guards the keeper.
    time_point renew_at = time_point::max();
    time_point next = time_point::max();
    time_point renewal_sent;
    bool renewing = false;
    /// A downgrade is on its way: see keeper_book::begin_turn().
    bool turning = false;
    static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);
    std::size_t heap_index = nowhere;

    [[nodiscard]] bool ours() const noexcept {
        const lease_status now = status.load();
        return now == lease_status::held || now == lease_status::jeopardy;
    }

    /// Takes over what users chose for a holding, when it becomes another state.
    void take_choices(const lease_state& from) {
        drift = from.drift;
        renews = from.renews;
        whole = from.whole.load();
        listener = from.listener;
        note = from.note;
        doubts = from.doubts;
        doubt_until = from.doubt_until;
    }

    /// A renewal makes it run longer.
    [[nodiscard]] bool extends() const noexcept { return renews || !whole; }

    /// Why it is lost when its time is over.
    [[nodiscard]] loss_reason reason_of_time() const noexcept {
        return deadline.load() >= hold_end ? loss_reason::max_hold : loss_reason::expired;
    }

    /// How often its leave must find something: what is held, and what may come late.
    [[nodiscard]] std::uint32_t finds(time_point now) const noexcept {
        return now < doubt_until ? doubts + 1 : 0;
    }

    /// When no engine has it any more, whatever was on its way when it was lost.
    [[nodiscard]] time_point gone_by() const noexcept {
        return later(deadline.load(), longest_trace(ttl));
    }

    /// Ends the lease; true for the one caller that did.
    bool end(lease_status how, loss_reason why) noexcept {
        lease_status now = status.load();
        while (now == lease_status::held || now == lease_status::jeopardy) {
            if (status.compare_exchange_weak(now, how)) {
                reason.store(why);
                return true;
            }
        }
        return false;
    }
};

/// Gives it back, whatever the engine knows of it.
[[nodiscard]] inline ask::leave leave_of(const lease_state& state) {
    return {state.name, state.owner, state.mode, state.note.is_set()};
}

}  // namespace holdfast::detail

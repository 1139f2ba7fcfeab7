// SPDX-License-Identifier: Apache-2.0
#include "lock/lock_runtime.hpp"

#include "core/overloaded.hpp"
#include "core/validity.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <optional>
#include <stop_token>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr duration shortest_ttl = 10ms;
constexpr duration longest_ttl = 24h;

std::string in_ms(duration d) {
    return fmt::format("{} ms", std::chrono::duration<double, std::milli>(d).count());
}

// A waiter behind a holder that may pass its lease on looks this often whether that one still
// lives.
constexpr duration longest_local_look = 1s;

constexpr std::uint32_t most_passes = 1000;

/// Opens the local line when a lease that occupied it is given back, whatever came of that.
struct turn_end {
    local_lines& lines;
    const lease_state& over;
    ~turn_end() {
        if (over.occupies_line) lines.next(over.name);
    }
};

std::unexpected<error> cancelled_error(const lock_name& name) {
    return fail(errc::cancelled, fmt::format("the wait for '{}' was cancelled", name.value()));
}

std::unexpected<error> closed_error() {
    return fail(errc::invalid_argument, "the client is closed: open another one");
}

}  // namespace

lock_runtime::lock_runtime(std::shared_ptr<lease_store> store, const client_options& options)
    : store_(std::move(store)),
      options_(options),
      clock_(*options.time),
      keeper_(std::make_unique<keeper>(store_, clock_, options.request_timeout, count_)),
      generation_(fork_generation()) {
    store_->on_push([room = room_](const lease_push& push) { room->hear(push); });
}

// In a child of fork() there are no threads to join, and locks may be held by threads that do not
// exist: everything is left where it is.
lock_runtime::~lock_runtime() {
    if (fork_generation() != generation_) {
        static_cast<void>(keeper_.release());
        static_cast<void>(new std::shared_ptr<lease_store>(std::move(store_)));
        return;
    }
    close();
}

void lock_runtime::close() {
    if (fork_generation() != generation_) return;
    if (closed_.exchange(true)) return;
    room_->close();
    keeper_->close(later(clock_.now(), options_.close_timeout));
}

result<void> lock_runtime::ready(const acquire_options& options) const {
    if (closed_) return closed_error();
    if (fork_generation() != generation_) {
        return fail(errc::invalid_argument,
                    "the client belongs to the parent process: open one after fork()");
    }
    if (options.ttl < shortest_ttl || options.ttl > longest_ttl) {
        return fail(errc::invalid_argument,
                    fmt::format("ttl is {}: it takes 10 ms to 24 h", in_ms(options.ttl)));
    }
    if (options.wait < duration::zero()) {
        return fail(errc::invalid_argument,
                    fmt::format("wait is {}: it takes zero or more", in_ms(options.wait)));
    }
    if (options.max_hold <= duration::zero()) {
        return fail(errc::invalid_argument, fmt::format("max_hold is {}: it takes more than zero",
                                                        in_ms(options.max_hold)));
    }
    return {};
}

result<lease> lock_runtime::acquire(const lock_name& name, const acquire_options& options) {
    if (const auto fit = ready(options); !fit) return std::unexpected(fit.error());
    if (options.stop.stop_requested()) return cancelled_error(name);
    const time_point asked = clock_.now();
    if (options.wait == duration::zero()) return ask_engine(name, options, asked, nullptr);

    waiter me(clock_);
    const auto on_stop = [&me] { me.cancel(); };
    std::optional<std::stop_callback<decltype(on_stop)>> stopping;
    if (options.stop.stop_possible()) stopping.emplace(options.stop, on_stop);
    const local_lines::turn turn = lines_.enter(name, me);
    const counters::gauge waiting(count_->waiting);
    if (turn == local_lines::turn::wait) {
        if (auto ended = stand_behind(name, options, later(asked, options.wait), me)) {
            if (!*ended) count_refusal(ended->error());
            return std::move(*ended);
        }
    }
    auto got = ask_engine(name, options, asked, &me);
    if (got && options.local_passes > 0) {
        got->state_->occupies_line = true;
        lines_.occupy(name, got->state_);
    } else {
        lines_.next(name);
    }
    return got;
}

// Waits behind others of this client; nothing when it is our turn to ask the engine.
std::optional<result<lease>> lock_runtime::stand_behind(const lock_name& name,
                                                        const acquire_options& options,
                                                        time_point until, waiter& me) {
    const waiting_room::seat seat(*room_, owner_token::draw(*options_.chance), me);
    for (;;) {
        const auto event = me.sleep(std::min(until, later(clock_.now(), longest_local_look)));
        if (const auto* lease = std::get_if<waiter::passed>(&event)) {
            return take_over(*lease, options);
        }
        if (std::holds_alternative<waiter::your_turn>(event)) return std::nullopt;
        const bool closed = std::holds_alternative<waiter::closed>(event);
        const bool cancelled = std::holds_alternative<waiter::cancelled>(event);
        if (!closed && !cancelled && clock_.now() < until) {
            lines_.check(name, clock_.now());
            continue;
        }
        // If the turn came in this very moment it is in our hands, and goes on from there.
        if (!lines_.leave(name, me)) {
            const auto late = me.sleep(time_point::min());
            if (const auto* lease = std::get_if<waiter::passed>(&late)) {
                return take_over(*lease, options);
            }
            lines_.next(name);
        }
        if (closed) return closed_error();
        if (cancelled) return cancelled_error(name);
        return fail(errc::timed_out,
                    fmt::format("'{}' was held by someone else all the time", name.value()));
    }
}

result<lease> lock_runtime::ask_engine(const lock_name& name, const acquire_options& options,
                                       time_point asked, waiter* me) {
    const bool waits = me != nullptr;
    owner_token owner = owner_token::draw(*options_.chance);
    // Any spread will do for retries: the owner is as random as a draw of its own.
    const auto jitter = static_cast<std::uint8_t>(std::hash<owner_token>{}(owner) & 0xFF);
    acquire_machine machine({.name = name,
                             .owner = std::move(owner),
                             .mode = {},
                             .ttl = options.ttl,
                             .wait_until = waits ? later(asked, options.wait) : time_point::min(),
                             .request_timeout = options_.request_timeout,
                             .spare_fences = options.local_passes,
                             .jitter = jitter});
    std::optional<waiting_room::seat> seat;
    if (waits) seat.emplace(*room_, machine.plan().owner, *me);
    auto end = drive(machine, me);
    if (end.leftover) {
        keeper_->leave_in_background({name, machine.plan().owner, machine.plan().mode},
                                     later(clock_.now(), options.ttl + options_.request_timeout));
    }
    if (!end.outcome) {
        count_refusal(end.outcome.error());
        if (closed_) return closed_error();
        return std::unexpected(std::move(end.outcome.error()));
    }
    return hand_out(machine.plan(), *end.outcome, options);
}

acquire_machine::finish lock_runtime::drive(acquire_machine& machine, waiter* me) {
    acquire_machine::action next = machine.start(clock_.now());
    for (;;) {
        if (auto* done = std::get_if<acquire_machine::finish>(&next)) return std::move(*done);
        if (const auto* out = std::get_if<acquire_machine::send>(&next)) {
            result<lease_reply> reply;
            store_->exchange({&out->request, 1}, {&reply, 1}, out->give_up);
            next = machine.on_reply(std::move(reply), clock_.now());
            continue;
        }
        waiter alone(clock_);  // of one that does not wait, but asks again after a lost answer
        const auto event =
            (me != nullptr ? *me : alone).sleep(std::get<acquire_machine::sleep>(next).until);
        const time_point now = clock_.now();
        next = std::visit(
            overloaded{
                [&](waiter::time_is_up) { return machine.on_wake(now); },
                [&](const handed_over& given) { return machine.on_hand_over(given, now); },
                [&](look_again) { return machine.on_look_again(now); },
                [&](waiter::cancelled) { return machine.on_cancel(now); },
                [&](waiter::closed) { return machine.on_cancel(now); },
                [&](const auto&) { return machine.on_wake(now); },
            },
            event);
    }
}

lease lock_runtime::hand_out(const acquire_plan& plan, const grant& given,
                             const acquire_options& options) {
    auto state =
        std::make_shared<lease_state>(plan.name, plan.owner, plan.mode, plan.ttl, given.fence);
    state->fork_generation = generation_;
    state->passes_left = options.local_passes;
    state->hold_end = later(clock_.now(), options.max_hold);
    state->deadline = std::min(given.believed_until, state->hold_end);
    state->renew_at = given.renew_at;
    counters::add(count_->acquired);
    if (given.waited) counters::add(count_->waited);
    if (given.handed_over) counters::add(count_->handed_over);
    keeper_->keep(state);
    return lease(shared_from_this(), std::move(state));
}

// A lease that was passed on: the engine knows nothing of it, the keeper takes it up again.
lease lock_runtime::take_over(const std::shared_ptr<lease_state>& state,
                              const acquire_options& options) {
    state->hold_end = later(clock_.now(), options.max_hold);
    state->deadline = std::min(state->deadline.load(), state->hold_end);
    counters::add(count_->acquired);
    counters::add(count_->waited);
    counters::add(count_->passed_on);
    keeper_->keep(state);
    return {shared_from_this(), state};
}

// Passes a lease to the next waiter of this client, if it may be and has enough life left.
bool lock_runtime::pass_on(const lease_state& old) {
    if (!old.occupies_line || old.passes_left == 0) return false;
    if (remaining_until(old.deadline.load()) < old.ttl / 2) return false;
    auto next = std::make_shared<lease_state>(old.name, old.owner, old.mode, old.ttl,
                                              fencing_token{old.fence.value + 1});
    next->fork_generation = generation_;
    next->passes_left = old.passes_left - 1;
    next->occupies_line = true;
    next->deadline = old.deadline.load();
    next->renew_at = old.renew_at;
    return lines_.pass_on(old.name, std::move(next));
}

duration lock_runtime::remaining_until(time_point deadline) const noexcept {
    return std::max(deadline - clock_.now(), duration::zero());
}

void lock_runtime::count_refusal(const error& why) {
    const bool refused = why == errc::busy || why == errc::timed_out || why == errc::cancelled;
    counters::add(refused ? count_->refused : count_->failed);
}

// A release whose answer was lost is asked again: "not yours" then means that the first one worked.
result<void> lock_runtime::release(lease_state& state) {
    if (fork_generation() != state.fork_generation) {
        return fail(errc::lease_lost, "the lease belongs to the parent process");
    }
    const bool in_time = held(state);
    const bool mine = state.end(lease_status::released, loss_reason::none);
    keeper_->forget(state);
    if (!mine) {
        return fail(errc::lease_lost, fmt::format("'{}' was lost before: {}", state.name.value(),
                                                  to_string(state.reason.load())));
    }
    if (in_time && pass_on(state)) {
        counters::add(count_->released);
        return {};
    }
    const turn_end opening{lines_, state};
    const time_point give_up = later(clock_.now(), options_.request_timeout);
    const lease_request request = ask::release{state.name, state.owner, state.mode};
    for (bool again = false;; again = true) {
        result<lease_reply> reply;
        store_->exchange({&request, 1}, {&reply, 1}, give_up);
        if (reply) {
            const bool gone = std::holds_alternative<answer::lost>(*reply) && !again;
            if (gone || !in_time) {
                counters::add(count_->lost);
                return fail(errc::lease_lost, fmt::format("'{}' was not ours any more when it was "
                                                          "released",
                                                          state.name.value()));
            }
            counters::add(count_->released);
            return {};
        }
        if (reply.error() == errc::outcome_unknown && !again && clock_.now() < give_up) continue;
        keeper_->leave_in_background({state.name, state.owner, state.mode},
                                     later(clock_.now(), state.ttl));
        return fail(errc::outcome_unknown,
                    fmt::format("release of '{}' goes on in the background: {}", state.name.value(),
                                reply.error().detail));
    }
}

void lock_runtime::abandon(lease_state& state) noexcept {
    if (fork_generation() != state.fork_generation) return;
    const bool mine = state.end(lease_status::released, loss_reason::none);
    keeper_->forget(state);
    if (!mine) return;
    counters::add(count_->released);
    if (pass_on(state)) return;
    const turn_end opening{lines_, state};
    keeper_->leave_in_background({state.name, state.owner, state.mode},
                                 later(clock_.now(), state.ttl));
}

bool lock_runtime::held(const lease_state& state) const noexcept {
    return remaining(state) > duration::zero();
}

duration lock_runtime::remaining(const lease_state& state) const noexcept {
    if (!state.ours() || fork_generation() != state.fork_generation) return duration::zero();
    return remaining_until(state.deadline.load());
}

result<std::vector<lease_info>> lock_runtime::list(std::string_view prefix) {
    if (closed_) return closed_error();
    return store_->list(prefix, later(clock_.now(), options_.request_timeout));
}

client_statistics lock_runtime::statistics() const {
    return {.acquired = count_->acquired,
            .waited = count_->waited,
            .handed_over = count_->handed_over,
            .passed_on = count_->passed_on,
            .refused = count_->refused,
            .failed = count_->failed,
            .released = count_->released,
            .renewed = count_->renewed,
            .renewal_failures = count_->renewal_failures,
            .lost = count_->lost,
            .held = keeper_->size(),
            .waiting = count_->waiting,
            .least_slack = count_->least_slack};
}

}  // namespace holdfast::detail

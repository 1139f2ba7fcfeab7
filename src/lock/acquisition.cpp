// SPDX-License-Identifier: Apache-2.0
#include "lock/acquisition.hpp"

#include "core/overloaded.hpp"
#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

// A waiter behind a holder that may pass its lease on looks this often whether that one still
// lives.
constexpr duration longest_local_look = 1s;

error cancelled_error(const lock_name& name) {
    return {errc::cancelled, fmt::format("the wait for '{}' was cancelled", name.value())};
}

}  // namespace

acquisition::acquisition(lock_runtime& runtime, const lock_name& name,
                         const acquire_options& options, const lease_mode& mode, bell* rings)
    : runtime_(runtime), name_(name), options_(options), mode_(mode), me_(runtime.time(), rings) {}

bool acquisition::waits_in_queue() const noexcept {
    return options_.wait != duration::zero();
}

bool acquisition::alone() const noexcept {
    return mode_.type == lease_mode::kind::exclusive;
}

time_point acquisition::wait_until() const noexcept {
    return waits_in_queue() ? later(asked_, options_.wait) : time_point::min();
}

acquisition::action acquisition::start() {
    if (const auto fit = runtime_.ready(options_, mode_); !fit) return std::unexpected(fit.error());
    if (options_.stop.stop_requested()) return std::unexpected(cancelled_error(name_));
    asked_ = runtime_.time().now();
    if (!waits_in_queue()) return ask_engine();
    if (options_.stop.stop_possible()) stopping_.emplace(options_.stop, canceller{&me_});
    ++runtime_.count().waiting_for(mode_);
    if (runtime_.lines(mode_).enter(name_, me_) == local_queues::turn::ask) return ask_engine();
    stood_behind_ = true;
    seat_.emplace(runtime_.room(), owner_token::draw(runtime_.chance(), runtime_.id()), me_);
    return stand_behind();
}

acquisition::action acquisition::stand_behind() {
    return sleep{std::min(wait_until(), later(runtime_.time().now(), longest_local_look))};
}

acquisition::action acquisition::on_event(const waiter::event& event) {
    if (!machine_) return behind(event);
    const time_point now = runtime_.time().now();
    return next(
        std::visit(overloaded{
                       [&](waiter::time_is_up) { return machine_->on_wake(now); },
                       [&](const handed_off& given) { return machine_->on_handoff(given, now); },
                       [&](poll_again) { return machine_->on_poll_again(now); },
                       [&](waiter::cancelled) { return machine_->on_cancel(now); },
                       [&](waiter::closed) { return machine_->on_cancel(now); },
                       [&](const auto&) { return machine_->on_wake(now); },
                   },
                   event));
}

// Waits behind others of this client, until it is our turn to ask the engine.
acquisition::action acquisition::behind(const waiter::event& event) {
    if (const auto* given = std::get_if<waiter::passed>(&event)) {
        --runtime_.count().waiting_for(mode_);
        return runtime_.take_over(*given, options_, asked_);
    }
    if (std::holds_alternative<waiter::your_turn>(event)) return ask_engine();
    const bool closed = std::holds_alternative<waiter::closed>(event);
    const bool cancelled = std::holds_alternative<waiter::cancelled>(event);
    const time_point now = runtime_.time().now();
    if (!closed && !cancelled && now < wait_until()) {
        runtime_.lines(mode_).check(name_, now);
        return stand_behind();
    }
    // If the turn came in this very moment it is in our hands, and goes on from there.
    if (!runtime_.lines(mode_).leave(name_, me_)) {
        const auto late = me_.happened();
        if (late && std::holds_alternative<waiter::passed>(*late)) return behind(*late);
        runtime_.lines(mode_).next(name_);
    }
    --runtime_.count().waiting_for(mode_);
    if (closed) return refuse(lock_runtime::closed_error());
    if (cancelled) return refuse(cancelled_error(name_));
    return refuse({errc::timed_out,
                   fmt::format("'{}' was held by someone else all the time", name_.value())});
}

acquisition::action acquisition::ask_engine() {
    owner_token owner = owner_token::draw(runtime_.chance(), runtime_.id());
    // Any spread will do for retries: the owner is as random as a draw of its own.
    const auto jitter = static_cast<std::uint8_t>(std::hash<owner_token>{}(owner) & 0xFF);
    machine_.emplace(acquire_plan{
        .name = name_,
        .owner = std::move(owner),
        .mode = mode_,
        .ttl = options_.ttl,
        .wait_until = wait_until(),
        .request_timeout = runtime_.request_timeout(),
        .spare_fences = waits_in_queue() && alone() ? options_.local_passes : 0,
        .barge = options_.barging,
        .drift = options_.drift,
        .jitter = jitter,
        .waited = stood_behind_,
        .note = options_.note.data() == nullptr ? holder_note() : holder_note(options_.note)});
    if (waits_in_queue()) {
        seat_.reset();
        seat_.emplace(runtime_.room(), machine_->plan().owner, me_);
    }
    return next(machine_->start(runtime_.time().now()));
}

acquisition::action acquisition::on_reply(result<lease_reply> reply) {
    return next(machine_->on_reply(std::move(reply), runtime_.time().now()));
}

acquisition::action acquisition::next(acquire_machine::action&& from_machine) {
    if (auto* out = std::get_if<send>(&from_machine)) return std::move(*out);
    if (const auto* until = std::get_if<sleep>(&from_machine)) return *until;
    return settle(std::get<acquire_machine::finish>(std::move(from_machine)));
}

result<lease> acquisition::settle(acquire_machine::finish&& end) {
    seat_.reset();
    const acquire_plan& plan = machine_->plan();
    if (end.leftover) runtime_.leave_in_background(plan, end.doubts);
    auto got = end.outcome ? runtime_.hand_out(plan, *end.outcome, options_, asked_)
                           : refuse(std::move(end.outcome.error()));
    if (!waits_in_queue()) return got;
    --runtime_.count().waiting_for(mode_);
    if (!got || !alone() || !runtime_.occupy_queue(*got, options_)) {
        runtime_.lines(mode_).next(name_);
    }
    return got;
}

result<lease> acquisition::refuse(error why) {
    runtime_.report().refused(name_, why, runtime_.time().now() - asked_, options_.listener);
    if (runtime_.closed()) return std::unexpected(lock_runtime::closed_error());
    return std::unexpected(std::move(why));
}

result<lease> acquisition::abort() {
    if (!machine_) {
        auto end = behind(waiter::closed{});
        return std::move(std::get<result<lease>>(end));
    }
    return settle({.outcome = std::unexpected(cancelled_error(name_)), .leftover = true});
}

}  // namespace holdfast::detail

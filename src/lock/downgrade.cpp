// SPDX-License-Identifier: Apache-2.0
//
// From writer to reader. The engine turns the lease in one step; here it becomes another state with
// the same owner, fence and lost(), because a state never changes its mode.
//
// Without an answer nobody knows which of the two the engine has. Shared is less than exclusive, so
// the lease counts as shared here: all that a reader asks of the engine (renew, release) works on
// both.
#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::detail {
namespace {

/// A renewal that is on its way speaks of an exclusive lease: if the downgrade overtakes it, the
/// engine may refuse it although nothing is lost.
class turn_guard {
public:
    turn_guard(keeper& of, std::shared_ptr<lease_state> which)
        : keeper_(of), lease_(std::move(which)) {
        keeper_.begin_turn(*lease_);
    }
    turn_guard(const turn_guard&) = delete;
    turn_guard& operator=(const turn_guard&) = delete;
    ~turn_guard() { keeper_.end_turn(*lease_); }

private:
    keeper& keeper_;
    const std::shared_ptr<lease_state> lease_;
};

}  // namespace

error lock_runtime::found_lost(lease_state& state) {
    keeper_->forget(state);
    if (state.end(lease_status::lost, loss_reason::missing)) report_->lost(state);
    if (state.occupies_queue) queues_.end_turn(state);
    return {errc::lease_lost,
            fmt::format("'{}' was not ours any more when it was to be shared", state.name.value())};
}

result<void> lock_runtime::shared_from(std::shared_ptr<lease_state>& state, time_point deadline,
                                       time_point renew_at) {
    lease_state& old = *state;
    auto next = std::make_shared<lease_state>(
        old.name, old.owner, lease_mode{.type = lease_mode::kind::shared}, old.ttl, old.fence);
    next->lost.share(old.lost);
    next->take_choices(old);
    next->fork_generation = old.fork_generation;
    next->since = old.since;
    next->hold_end = old.hold_end;
    next->deadline = std::max(old.deadline.load(), std::min(deadline, old.hold_end));
    next->renew_at = renew_at;
    keeper_->forget(old);
    if (old.occupies_queue) queues_.end_turn(old);
    const bool ours = old.end(lease_status::released, loss_reason::none);
    if (!ours || !keeper_->keep(next)) {
        leave({old.name, old.owner, next->mode}, later(clock_.now(), old.ttl));
        return fail(errc::lease_lost,
                    fmt::format("'{}' was lost while it was to be shared", old.name.value()));
    }
    state = std::move(next);
    return {};
}

result<void> lock_runtime::downgrade(std::shared_ptr<lease_state>& state) {
    const open_calls::guard under_way(calls_);
    lease_state& old = *state;
    if (closed_) return std::unexpected(closed_error());
    if (!store_->can().shared) return fail(errc::unsupported, "this engine has no shared leases");
    if (old.mode.type == lease_mode::kind::permit) {
        return fail(errc::invalid_argument, "a semaphore's permits cannot be shared");
    }
    time_point sent = clock_.now();
    if (!held(old)) {
        return fail(errc::lease_lost, fmt::format("'{}' was lost before", old.name.value()));
    }
    const time_point give_up = std::min(later(sent, options_.request_timeout), old.deadline.load());
    const turn_guard turning(*keeper_, state);
    const lease_request request = ask::acquire{.name = old.name,
                                               .owner = old.owner,
                                               .mode = {.type = lease_mode::kind::shared},
                                               .ttl = keeper_book::ttl_to_ask(old, sent),
                                               .otherwise = ask::when_busy::refuse,
                                               .ticket = {},
                                               .spare_fences = 0,
                                               .barge = false,
                                               .turns = old.fence};
    result<lease_reply> reply;
    store_->exchange({&request, 1}, {&reply, 1}, give_up);
    const bool doubtful = !reply && reply.error() == errc::outcome_unknown;
    if (doubtful && clock_.now() < give_up) {
        sent = clock_.now();
        store_->exchange({&request, 1}, {&reply, 1}, give_up);
    }
    if (!reply && !doubtful) return std::unexpected(reply.error());
    if (!reply) {
        if (auto said = shared_from(state, old.deadline.load(), old.renew_at); !said) return said;
        return fail(errc::outcome_unknown, reply.error().detail);
    }
    const auto* given = std::get_if<answer::granted>(&*reply);
    // One that was passed on has a fence above the engine's; a later holding has one above both.
    if (given != nullptr && given->fence <= old.fence) {
        return shared_from(state, valid_until(sent, given->ttl, old.drift),
                           renew_at(sent, old.ttl, old.drift));
    }
    // A new lease is not what was asked for: someone else may have been in between.
    if (given != nullptr) {
        leave({old.name, old.owner, {.type = lease_mode::kind::shared}},
              later(clock_.now(), old.ttl));
    }
    return std::unexpected(found_lost(old));
}

}  // namespace holdfast::detail

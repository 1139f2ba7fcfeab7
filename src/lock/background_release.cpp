// SPDX-License-Identifier: Apache-2.0
//
// What a client gives back without its user: what an acquire left behind, what was lost here but
// not on the engine, and, when it closes, everything.
#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

namespace holdfast::detail {
namespace {

// What acquires without an answer may leave to the background at once. With an engine that is away
// and a long ttl there is no other bound to them. Leases that are given back have one: they were
// held.
constexpr std::size_t most_leaving = 100'000;

std::string in_seconds(duration d) {
    return fmt::format("{} s", std::chrono::duration<double>(d).count());
}

}  // namespace

void lock_runtime::begin_close() {
    closed_ = true;
    room_->close();
    async_driver_->begin_close();
    keeper_->begin_close();
}

// Calls that are under way end before the keeper does: what the engine still grants them is given
// back by it. One that takes longer than all this gives it back itself.
result<void> lock_runtime::close() {
    if (fork_generation() != generation_) return {};
    if (closing_.exchange(true)) return {};
    const time_point until = later(clock_.now(), options_.close_timeout);
    begin_close();
    async_driver_->close(until);
    calls_.wait_for_none(clock_, until);
    const std::size_t left = keeper_->close(until);
    store_->settle(until);
    if (left == 0) return {};
    count_->left_to_ttl.fetch_add(left, std::memory_order_relaxed);
    return fail(errc::outcome_unknown,
                fmt::format("{} leases or waiters were not released within {}: the engine "
                            "did not answer in time, and they end by their ttl",
                            left, in_seconds(options_.close_timeout)));
}

void lock_runtime::leave_in_background(const acquire_plan& plan, std::uint32_t doubts) {
    if (keeper_->leaving() >= most_leaving) {
        counters::add(count_->left_to_ttl);
        return;
    }
    leave({plan.name, plan.owner, plan.mode},
          later(clock_.now(), longest_trace(plan.ttl) + options_.request_timeout), doubts);
}

void lock_runtime::leave(ask::leave request, time_point until, std::uint32_t doubts) {
    if (keeper_->leave_in_background(request, until, doubts)) return;
    const lease_request last = std::move(request);
    result<lease_reply> reply;
    store_->exchange({&last, 1}, {&reply, 1}, later(clock_.now(), options_.request_timeout));
    if (!reply) counters::add(count_->left_to_ttl);
}

// A lease that was lost here may still be the engine's to give: it was held for max_hold, or the
// answer to its last renewal did not come. Who gives it back does not leave it to its ttl.
void lock_runtime::release_lost(const lease_state& over) {
    const loss_reason why = over.reason.load();
    const bool perhaps_there =
        why == loss_reason::max_hold || why == loss_reason::expired || why == loss_reason::missing;
    if (!perhaps_there || clock_.now() >= over.gone_by()) return;
    static_cast<void>(keeper_->give_back(over, over.gone_by()));
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
//
// A lease that leaves this process, and one that comes into it (lease_token.hpp). Nobody renews it
// in between.
#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/format.h>

namespace holdfast::detail {

result<lease_token> lock_runtime::detach(lease_state& state) {
    if (fork_generation() != state.fork_generation) {
        return fail(errc::lease_lost, "the lease belongs to the parent process");
    }
    const bool ours = held(state) && state.end(lease_status::released, loss_reason::none);
    if (ours) keeper_->forget(state);  // the keeper declares one lost whose time is over
    if (state.occupies_queue) queues_.end_turn(state);
    if (!ours) {
        return fail(errc::lease_lost,
                    fmt::format("'{}' was lost before it was detached", state.name.value()));
    }
    report_->released(state, clock_);
    return lease_token(state.name, state.owner, state.mode, state.fence);
}

result<lease> lock_runtime::adopt(const lease_token& token, const acquire_options& options) {
    if (auto fit = ready(options, token.mode()); !fit) return std::unexpected(fit.error());
    const time_point asked = clock_.now();
    const acquire_plan plan{.name = token.name(),
                            .owner = owner_token::draw(chance(), id_),
                            .mode = token.mode(),
                            .ttl = options.ttl,
                            .wait_until = time_point::min(),
                            .request_timeout = options_.request_timeout};
    const lease_adoption change{plan.name, token.owner(), plan.owner, plan.mode, plan.ttl};
    const auto ask = [&](time_point sent) {
        return store_->adopt(change, later(sent, options_.request_timeout));
    };
    time_point sent = asked;
    auto reply = ask(sent);
    if (!reply && reply.error() == errc::outcome_unknown) {
        sent = clock_.now();
        reply = ask(sent);
    }
    if (!reply) {
        if (reply.error() != errc::unsupported) leave_in_background(plan);
        return std::unexpected(std::move(reply.error()));
    }
    const time_point until = valid_until(sent, plan.ttl, options.drift);
    if (!std::holds_alternative<answer::renewed>(*reply) || clock_.now() >= until) {
        leave_in_background(plan);
        const auto* lost = std::get_if<answer::lost>(&*reply);
        const bool words = lost != nullptr && !lost->reason.empty();
        return fail(errc::lease_lost,
                    fmt::format("'{}' cannot be adopted: {}", plan.name.value(),
                                words ? "it was evicted: " + lost->reason
                                      : "its time was over, or it was adopted already"));
    }
    return hand_out(plan,
                    grant{.fence = token.fence(),
                          .valid_until = until,
                          .renew_at = renew_at(sent, plan.ttl, options.drift),
                          .adopted = true},
                    options, asked);
}

}  // namespace holdfast::detail

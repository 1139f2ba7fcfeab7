// SPDX-License-Identifier: Apache-2.0
//
// A renewal that the holder asks for, beside those of the keeper. Both may be on their way at once:
// an engine never shortens a lease, so the later end counts, whichever is answered first.
#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"

#include <fmt/format.h>

namespace holdfast::detail {

result<void> lock_runtime::renew(lease_state& state, duration ttl) {
    if (closed_) return std::unexpected(closed_error());
    if (auto fit = fit_ttl(ttl, state.drift); !fit) return fit;
    const time_point sent = clock_.now();
    const auto gone = [&] {
        return fail(errc::lease_lost,
                    fmt::format("'{}' was lost before it could be renewed", state.name.value()));
    };
    if (!held(state)) return gone();
    const time_point give_up =
        std::min(later(sent, options_.request_timeout), state.deadline.load());
    const lease_request request = ask::renew{
        state.name,  state.owner, state.mode, ttl_until(state.hold_end, sent, ttl, state.drift),
        state.fence, {},          state.note};
    result<lease_reply> reply;
    store_->exchange({&request, 1}, {&reply, 1}, give_up);
    if (!reply) return std::unexpected(std::move(reply.error()));
    if (const auto* good = std::get_if<answer::renewed>(&*reply)) {
        const duration slack = state.deadline.load() - clock_.now();
        if (!keeper_->extended(state, sent, good->ttl)) return gone();
        state.ttl = ttl;
        report_->renewed(state, slack);
        return {};
    }
    const auto* lost = std::get_if<answer::lost>(&*reply);
    keeper_->refused(state, lost == nullptr ? "" : std::string_view(lost->reason));
    return gone();
}

}  // namespace holdfast::detail

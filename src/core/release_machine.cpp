// SPDX-License-Identifier: Apache-2.0
#include "core/release_machine.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::detail {

release_machine::release_machine(release_plan plan)
    : request_(std::move(plan.request)), in_time_(plan.in_time), give_up_(plan.give_up) {}

release_machine::action release_machine::start() const {
    return send{&request_, give_up_};
}

release_machine::action release_machine::on_reply(const result<lease_reply>& reply,
                                                  time_point now) {
    const std::string& name = std::get<ask::release>(request_).name.value();
    if (reply) {
        const auto* lost = std::get_if<answer::lost>(&*reply);
        if (lost != nullptr && !lost->reason.empty()) {
            return finish{
                fail(errc::lease_lost, fmt::format("'{}' was evicted: {}", name, lost->reason)),
                false, lost->reason};
        }
        const bool gone = lost != nullptr && !asked_again_;
        if (!gone && in_time_) return finish{};
        return finish{fail(errc::lease_lost,
                           fmt::format("'{}' was not ours any more when it was released", name))};
    }
    if (reply.error() == errc::outcome_unknown && !asked_again_ && now < give_up_) {
        asked_again_ = true;
        return start();
    }
    return finish{
        fail(errc::outcome_unknown, fmt::format("release of '{}' goes on in the background: {}",
                                                name, reply.error().detail)),
        true};
}

}  // namespace holdfast::detail

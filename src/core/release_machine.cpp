// SPDX-License-Identifier: Apache-2.0
#include "core/release_machine.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::detail {

release_machine::release_machine(release_plan plan) : plan_(std::move(plan)) {}

release_machine::action release_machine::start() const {
    return send{plan_.request, plan_.give_up};
}

release_machine::action release_machine::on_reply(const result<lease_reply>& reply,
                                                  time_point now) {
    const std::string& name = plan_.request.name.value();
    if (reply) {
        const bool gone = std::holds_alternative<answer::lost>(*reply) && !asked_again_;
        if (!gone && plan_.in_time) return finish{};
        return finish{fail(errc::lease_lost,
                           fmt::format("'{}' was not ours any more when it was released", name))};
    }
    if (reply.error() == errc::outcome_unknown && !asked_again_ && now < plan_.give_up) {
        asked_again_ = true;
        return start();
    }
    return finish{
        fail(errc::outcome_unknown, fmt::format("release of '{}' goes on in the background: {}",
                                                name, reply.error().detail)),
        true};
}

}  // namespace holdfast::detail

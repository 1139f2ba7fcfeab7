// SPDX-License-Identifier: Apache-2.0
#include "recording_store.hpp"

#include "process.hpp"
#include "world.hpp"

#include <algorithm>

namespace holdfast::sim {

recording_store::recording_store(world& around, process& host, std::shared_ptr<lease_store> inner)
    : world_(around), host_(host), inner_(std::move(inner)) {}

void recording_store::exchange(std::span<const lease_request> /*requests*/,
                               std::span<result<lease_reply>> replies, time_point /*give_up*/) {
    std::ranges::fill(replies, fail(errc::unsupported, "nobody can wait in a simulation"));
}

result<std::vector<lease_info>> recording_store::list(std::string_view /*prefix*/,
                                                      time_point /*give_up*/) {
    return fail(errc::unsupported, "nobody lists in a simulation");
}

void recording_store::submit(std::vector<lease_request> requests, time_point give_up,
                             reply_handler on_reply) {
    if (host_.dead()) return;
    const auto asked = std::make_shared<const std::vector<lease_request>>(requests);
    for (const lease_request& one : *asked) {
        world_.judges().see(seen::request_sent{world_.now(), host_.number(), one});
    }
    inner_->submit(
        std::move(requests), give_up,
        [this, asked, tell = std::move(on_reply)](std::size_t i, const result<lease_reply>& reply) {
            tell(i, reply);
            world_.judges().see(
                seen::request_answered{world_.now(), host_.number(), (*asked)[i], reply});
        });
}

void recording_store::on_push(push_handler handler) {
    inner_->on_push([this, tell = std::move(handler)](const lease_push& push) {
        if (const auto* given = std::get_if<handed_off>(&push)) {
            world_.judges().see(seen::push_heard{world_.now(), host_.number(), *given});
        }
        tell(push);
    });
}

}  // namespace holdfast::sim

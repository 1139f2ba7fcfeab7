// SPDX-License-Identifier: Apache-2.0
#include <holdfast/engine/lease_store.hpp>

namespace holdfast {

duration ttl_of(const lease_request& request) noexcept {
    if (const auto* asked = std::get_if<ask::acquire>(&request)) return asked->ttl;
    if (const auto* kept = std::get_if<ask::renew>(&request)) return kept->ttl;
    return duration::zero();
}

// For stores whose exchange never waits long: it is carried out on the caller's thread.
// NOLINTBEGIN(performance-unnecessary-value-param): other stores keep both
void lease_store::submit(std::vector<lease_request> requests, time_point give_up,
                         reply_handler on_reply) {
    // NOLINTEND(performance-unnecessary-value-param)
    std::vector<result<lease_reply>> replies(requests.size());
    exchange(requests, replies, give_up);
    for (std::size_t i = 0; i < replies.size(); ++i) on_reply(i, std::move(replies[i]));
}

bool lease_store::hear_pushes(const push_wait& /*wait*/) {
    return false;
}

void lease_store::settle(time_point /*until*/) {}

result<wall_time> lease_store::time_of_day(time_point /*give_up*/) {
    return fail(errc::unsupported, "this engine does not tell the time of day");
}

void lease_store::introduce(const client_id& /*id*/, const client_label& /*who*/) {}

result<std::optional<lease_info>> lease_store::inspect(const lock_name& /*name*/,
                                                       time_point /*give_up*/) {
    return fail(errc::unsupported, "this engine does not report the holders of a name");
}

result<lease_reply> lease_store::adopt(const lease_adoption& /*asked*/, time_point /*give_up*/) {
    return fail(errc::unsupported, "this engine cannot give a lease another owner");
}

result<void> lease_store::resize(const lock_name& /*name*/, std::uint32_t /*permits*/,
                                 time_point /*give_up*/) {
    return fail(errc::unsupported, "this engine cannot change how many permits a name has");
}

result<std::uint32_t> lease_store::evict(const lock_name& /*name*/, std::string_view /*reason*/,
                                         time_point /*give_up*/) {
    return fail(errc::unsupported, "this engine cannot take a name from its holder");
}

result<std::vector<eviction_info>> lease_store::evictions(const lock_name& /*name*/,
                                                          time_point /*give_up*/) {
    return fail(errc::unsupported, "this engine does not tell from whom a name was taken");
}

}  // namespace holdfast

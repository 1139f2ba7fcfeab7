// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/send_limits.hpp"

#include "commands/serve/setting_text.hpp"

#include <holdfast/rate_limit_headers.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::app {
namespace {

// A burst of a whole period; blocks of a hot key, so that most takes ask nobody.
std::optional<rate_limiter> limiter_of(const command_access& where, std::string name,
                                       const std::optional<rate>& at_most) {
    if (!at_most) return std::nullopt;
    const token_bucket rule{
        .capacity = at_most->amount, .refill = at_most->amount, .period = at_most->period};
    // An engine that is away must not be doubly so: the post itself will say what is wrong.
    return std::optional<rate_limiter>(
        std::in_place, where, std::vector<limit>{{.name = std::move(name), .rule = rule}},
        rate_limiter_options{.prefix = "limit:push:",
                             .away = when_away::allow,
                             .block = at_most->amount >= 1000 ? at_most->amount / 100 : 0});
}

net::http_response too_many(std::string_view whose, const decision& seen,
                            const rate_limiter& limiter) {
    auto out =
        net::problem(429, fmt::format("{}_rate", whose),
                     fmt::format("more than {} messages at once by one {}", seen.limit, whose));
    for (auto& one : rate_limit_headers(seen, limiter.limits())) {
        out.headers.push_back(std::move(one));
    }
    return out;
}

}  // namespace

send_limits::send_limits(const command_access& where, const serve_settings& settings)
    : user_{.name = "user",
            .rate = rate_setting_text{}.show(settings.user_rate),
            .by = limiter_of(where, "user", settings.user_rate)},
      room_{.name = "room",
            .rate = rate_setting_text{}.show(settings.room_rate),
            .by = limiter_of(where, "room", settings.room_rate)},
      address_{.name = "address",
               .rate = rate_setting_text{}.show(settings.address_rate),
               .by = limiter_of(where, "address", settings.address_rate)} {}

std::optional<net::http_response> send_limits::refuse(counted_limit& limit, const std::string& key,
                                                      std::size_t amount,
                                                      std::vector<net::header>* headers) {
    if (!limit.by) return std::nullopt;
    const auto seen = limit.by->take(key, amount);
    if (!seen) return std::nullopt;  // a key that is no name is refused with its post
    if (!seen->allowed) {
        limit.refused += amount;
        return too_many(limit.name, *seen, *limit.by);
    }
    limit.allowed += amount;
    if (headers != nullptr) *headers = rate_limit_headers(*seen, limit.by->limits());
    return std::nullopt;
}

std::optional<net::http_response> send_limits::refuse_address(const std::string& address) {
    return refuse(address_, address, 1, nullptr);
}

send_limits::outcome send_limits::take(const std::string& user, const std::string& room,
                                       std::size_t messages) {
    const std::size_t amount = std::max<std::size_t>(1, messages);
    outcome out;
    out.refused = refuse(user_, user, amount, &out.headers);
    if (!out.refused) out.refused = refuse(room_, room, amount, nullptr);
    return out;
}

std::vector<send_limits::figures> send_limits::read() const {
    std::vector<figures> out;
    for (const counted_limit* const one : {&user_, &room_, &address_}) {
        out.push_back({one->name, one->rate, one->allowed, one->refused});
    }
    return out;
}

}  // namespace holdfast::app

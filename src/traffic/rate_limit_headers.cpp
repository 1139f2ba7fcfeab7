// SPDX-License-Identifier: Apache-2.0
#include <holdfast/rate_limit_headers.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace holdfast {
namespace {

// At least one: "0" would invite to come at once.
std::int64_t whole_seconds(duration d) {
    return std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(d).count());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> rate_limit_headers(const decision& answer,
                                                                    std::span<const limit> limits) {
    std::vector<std::pair<std::string, std::string>> fields;
    if (limits.empty()) return fields;
    std::string policy;
    for (const limit& one : limits) {
        if (!policy.empty()) policy += ", ";
        policy += fmt::format("\"{}\";q={};w={}", one.name, capacity_of(one.rule),
                              whole_seconds(window_of(one.rule)));
    }
    const std::string& name = answer.binding.empty() ? limits.front().name : answer.binding;
    std::string state = fmt::format("\"{}\";r={}", name, answer.remaining);
    const duration next = answer.allowed ? answer.reset_after : answer.retry_after;
    const bool known = next > duration::zero() && next != decision::never;
    if (known) state += fmt::format(";t={}", whole_seconds(next));
    fields.emplace_back("RateLimit-Policy", std::move(policy));
    fields.emplace_back("RateLimit", std::move(state));
    if (!answer.allowed && known) {
        fields.emplace_back("Retry-After", std::to_string(whole_seconds(next)));
    }
    return fields;
}

}  // namespace holdfast

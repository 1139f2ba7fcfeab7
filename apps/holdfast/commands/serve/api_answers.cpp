// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/api_answers.hpp"

#include <fmt/format.h>

#include <charconv>

namespace holdfast::app {

using net::http_request;
using net::http_response;
using net::problem;

std::int64_t in_milliseconds(duration d) {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

http_response problem_of(const error& why) {
    switch (why.code) {
        case errc::invalid_argument: return problem(422, "invalid_argument", why.detail);
        case errc::unsupported: return problem(501, "unsupported", why.detail);
        default: break;
    }
    auto away = problem(503, "engine_away", "the engine does not answer; try again");
    away.headers.emplace_back("Retry-After", "1");
    return away;
}

http_response problem_of(const push::refusal& why) {
    if (why.reason == push::refusal_reason::queue_full) {
        auto full = problem(503, push::to_string(why.reason), why.detail);
        full.headers.emplace_back("Retry-After", "1");
        return full;
    }
    if (why.reason == push::refusal_reason::engine) {
        if (why.cause == errc::outcome_unknown) {
            return problem(503, "outcome_unknown",
                           "it may have been stored; sending the same ids again is safe");
        }
        return problem_of(error{why.cause.value_or(errc::unavailable), why.detail});
    }
    return problem(422, push::to_string(why.reason), fmt::format("{}: {}", why.field, why.detail));
}

std::expected<std::uint64_t, http_response> number_of(const http_request& r, const char* name,
                                                      std::uint64_t usual, std::uint64_t most) {
    const auto text = r.parameter(name);
    if (!text) return usual;
    std::uint64_t out = 0;
    const char* const end = text->data() + text->size();
    const auto read = std::from_chars(text->data(), end, out);
    if (read.ec == std::errc{} && read.ptr == end && out <= most) return out;
    return std::unexpected(
        problem(400, "wrong_type", fmt::format("{} must be a whole number up to {}", name, most)));
}

}  // namespace holdfast::app

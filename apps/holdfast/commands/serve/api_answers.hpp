// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/http_message.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/push/post.hpp>

#include <cstdint>
#include <expected>

/// What the answers to HTTP requests have in common: refusals, and numbers of the query.
namespace holdfast::app {

[[nodiscard]] std::int64_t in_milliseconds(duration d);

/// The detail of an engine that is away may name servers of the inside: it is in our log, not in
/// the answer.
[[nodiscard]] net::http_response problem_of(const error& why);
[[nodiscard]] net::http_response problem_of(const push::refusal& why);

/// A whole number of the query; the fault says which.
[[nodiscard]] std::expected<std::uint64_t, net::http_response> number_of(const net::http_request& r,
                                                                         const char* name,
                                                                         std::uint64_t usual,
                                                                         std::uint64_t most);

}  // namespace holdfast::app

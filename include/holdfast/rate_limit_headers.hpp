// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/decision.hpp>
#include <holdfast/limit.hpp>

#include <span>
#include <string>
#include <utility>
#include <vector>

/// A decision as HTTP header fields.
///
///     RateLimit-Policy: "minute";q=100;w=60
///     RateLimit: "minute";r=12;t=30
///     Retry-After: 30
///
/// The first two are those of the IETF draft "RateLimit header fields for HTTP" (two structured
/// fields, as of its version 10); Retry-After is of RFC 9110. Seconds are rounded up, so that a
/// retry then is not too early.
namespace holdfast {

/// Returns the fields of a decision, name and value. Retry-After is included for a refusal if
/// waiting helps.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> rate_limit_headers(
    const decision& answer, std::span<const limit> limits);

}  // namespace holdfast

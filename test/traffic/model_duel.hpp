// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traffic/reference_models.hpp"

#include <holdfast/rate_limiter.hpp>

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

/// The same random operations on a limiter and on its model: every answer must be the same.
///
/// The first half takes, looks and gives back. The second half takes and looks only, and there it
/// is also checked that no window ever holds more than the rule promises.
namespace holdfast::test {

struct duel_rule {
    std::string name;
    limit_rule rule;
};

inline void PrintTo(const duel_rule& rule, std::ostream* out) {
    *out << rule.name;
}

/// Rules that between them reach every branch: whole and broken rates, one part and many.
[[nodiscard]] std::vector<duel_rule> duel_rules();

/// An engine whose time the test moves.
struct duel_ground {
    command_access where;
    std::function<std::int64_t()> now_us;
    std::function<void(std::int64_t)> advance_us;
};

/// Fails the running test at the first difference; the text shows seed, step and both answers.
void fight(const duel_ground& ground, const duel_rule& rule, std::uint64_t seed,
           std::uint64_t operations);

/// HOLDFAST_MODEL_OPERATIONS, or `otherwise`.
[[nodiscard]] std::uint64_t operations_or(std::uint64_t otherwise);

}  // namespace holdfast::test

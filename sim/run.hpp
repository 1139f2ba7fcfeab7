// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "checkers/checker.hpp"
#include "plan.hpp"

#include <cstdint>
#include <vector>

/// One seed, from its plan to its verdict.
namespace holdfast::sim {

struct verdict {
    plan how;
    std::uint64_t hash = 0;
    std::uint64_t events = 0;
    std::vector<violation> found;

    [[nodiscard]] bool good() const noexcept { return found.empty(); }
};

/// Whether everything that is seen is written to stdout.
enum class writing : std::uint8_t { nothing, everything };

[[nodiscard]] verdict run_seed(std::uint64_t seed, const limits& bounds,
                               writing what = writing::nothing);

/// Takes away what the failure does not need: faults one by one, then programs, then time. What is
/// left still fails by the same checker.
struct shrunk {
    limits bounds;
    verdict last;
    unsigned tries = 0;
};
[[nodiscard]] shrunk shrink(std::uint64_t seed, const limits& bounds, const verdict& first);

}  // namespace holdfast::sim

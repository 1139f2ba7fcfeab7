// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plan.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

/// Many seeds on several processors: each worker is a process, so that one that crashes takes
/// nothing along, and each seed has one thread and no neighbours.
namespace holdfast::sim {

struct campaign {
    std::uint64_t first = 1;
    std::uint64_t count = 1000;
    /// Ends by then, however many seeds were done. Zero: no such end.
    std::chrono::seconds time{0};
    unsigned jobs = 1;
    limits bounds;
    /// Each seed is run twice, and must give the same hash.
    bool twice = false;
    /// Goes on after a seed that fails, and names all of them in the end.
    bool go_on = false;
};

struct progress {
    std::uint64_t done = 0;
    std::uint64_t events = 0;
    std::chrono::milliseconds elapsed{0};
    std::uint64_t failures = 0;
};

struct campaign_end {
    progress sum;
    std::optional<std::uint64_t> failed;      ///< The lowest seed that did, of those that were run.
    bool crashed = false;                     ///< It took its worker along.
    bool unequal = false;                     ///< It ran in two ways.
    std::vector<std::uint64_t> all_failed{};  ///< With `go_on`, in order; some thousands at most.
};

[[nodiscard]] campaign_end run_campaign(const campaign& what,
                                        const std::function<void(const progress&)>& show);

}  // namespace holdfast::sim

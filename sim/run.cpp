// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include "checkers/checker_set.hpp"
#include "world.hpp"

#include <algorithm>

namespace holdfast::sim {

verdict run_seed(std::uint64_t seed, const limits& bounds, writing what) {
    verdict result;
    result.how = draw_plan(seed, bounds);
    checker_set judges(result.how);
    if (what == writing::everything) judges.call_scribe();
    world here(result.how, judges);
    const bool ended = here.run();
    result.found = judges.found();
    if (!ended) result.found.push_back({here.now(), "end", "too much happened: it does not end"});
    result.hash = here.time().hash();
    result.events = here.time().happened();
    return result;
}

shrunk shrink(std::uint64_t seed, const limits& bounds, const verdict& first) {
    shrunk best{bounds, first, 0};
    const std::string_view by = first.found.front().checker;
    const auto still_fails = [&](const limits& smaller) {
        ++best.tries;
        verdict seen = run_seed(seed, smaller);
        const bool same =
            std::ranges::any_of(seen.found, [&](const violation& v) { return v.checker == by; });
        if (!same) return false;
        best.bounds = smaller;
        best.last = std::move(seen);
        return true;
    };
    for (std::size_t i = 0; i < fault_kinds; ++i) {
        if (!best.last.how.faults[i]) continue;
        limits without = best.bounds;
        without.without.set(i);
        still_fails(without);
    }
    for (unsigned fewer = best.last.how.processes; fewer > 1; --fewer) {
        limits with = best.bounds;
        with.processes = fewer - 1;
        if (!still_fails(with)) break;
    }
    for (moment step = best.last.how.safety / 2; step > std::chrono::milliseconds(20); step /= 2) {
        limits shorter = best.bounds;
        shorter.safety = best.last.how.safety - step;
        still_fails(shorter);
    }
    return best;
}

}  // namespace holdfast::sim

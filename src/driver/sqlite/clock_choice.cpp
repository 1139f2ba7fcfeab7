// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/clock_choice.hpp"

#include <algorithm>
#include <cstdlib>

namespace holdfast::sqlite {
namespace {

// A machine's time of day and its clock since the boot run together, unless the former is set. A
// boot that has the id of an earlier one began at another time of day.
constexpr std::int64_t born_tolerance = 1'000'000;

bool is_same_boot(const noted_clock& noted, const clock_reading& now) {
    if (noted.boot != now.boot) return false;
    // Whatever was given out is before this, so it does not matter which boot it is.
    if (now.since_boot + noted.ahead >= noted.seen + note_margin) return true;
    return std::abs(now.day - now.since_boot - noted.born) <= born_tolerance;
}

}  // namespace

clock_choice choose_clock(const clock_question& asked) {
    const clock_reading& now = asked.now;
    const std::int64_t first = std::max(now.day, asked.largest_fence);
    if (!asked.noted) return {.verdict = clock_verdict::start, .ahead = first - now.since_boot};
    const noted_clock& noted = *asked.noted;
    const std::int64_t running = now.since_boot + noted.ahead;
    const bool behind = running < noted.seen;
    if (asked.used_by_others && behind) {
        return {.verdict = clock_verdict::refuse, .behind = noted.seen - running};
    }
    if (asked.used_by_others || (!behind && is_same_boot(noted, now))) {
        return {.verdict = clock_verdict::keep, .ahead = noted.ahead};
    }
    const std::int64_t past_all = std::max(first, noted.seen + note_margin);
    if (behind) return {.verdict = clock_verdict::start, .ahead = past_all - now.since_boot};
    const std::int64_t goes_on = std::max(past_all, running);
    return {.verdict = clock_verdict::start,
            .ahead = goes_on - now.since_boot,
            .shift = goes_on - running};
}

}  // namespace holdfast::sqlite

// SPDX-License-Identifier: Apache-2.0
//
// Racing readers, writers and loaders that die anywhere. CACHE_RACE_ROUNDS plays more of them.
#include "cache/cache_race.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::uint64_t wanted_rounds() {
    const char* said = std::getenv("CACHE_RACE_ROUNDS");
    return said == nullptr ? 20'000 : std::strtoull(said, nullptr, 10);
}

TEST(cache_race, nothing_stale_is_left_when_every_write_and_every_load_has_ended) {
    const time_point end = system_clock().now() + 20s;
    const bool boxed = std::getenv("CACHE_RACE_ROUNDS") == nullptr;
    const auto seen = cache_race(race_bug::none).play(1, wanted_rounds(), [&] {
        return boxed && system_clock().now() > end;
    });
    RecordProperty("rounds", std::to_string(seen.rounds));
    RecordProperty("loads", std::to_string(seen.loads));
    EXPECT_EQ(seen.stale, 0U) << "seed " << seen.first_bad_seed;
    EXPECT_EQ(seen.eternal, 0U) << "seed " << seen.first_bad_seed;
    EXPECT_EQ(seen.overlapping, 0U) << "seed " << seen.first_bad_seed;
    // The rounds are worth something: there were races that were decided.
    EXPECT_GT(seen.refused, seen.rounds / 100);
    EXPECT_GT(seen.deaths, seen.rounds / 10);
}

struct seeded_bug {
    const char* name;
    race_bug bug;
    std::uint64_t race_report::* found_as;
};

class cache_race_bugs : public testing::TestWithParam<seeded_bug> {};

TEST_P(cache_race_bugs, are_found) {
    const auto seen = cache_race(GetParam().bug).play(1, 3000);
    EXPECT_GT(seen.*GetParam().found_as, 0U) << seen.rounds << " rounds did not show it";
}

INSTANTIATE_TEST_SUITE_P(
    all, cache_race_bugs,
    testing::Values(
        seeded_bug{"store_ignores_the_lease", race_bug::store_ignores_the_lease,
                   &race_report::stale},
        seeded_bug{"invalidation_keeps_the_lease", race_bug::invalidation_keeps_the_lease,
                   &race_report::stale},
        seeded_bug{"lease_without_expiry", race_bug::lease_without_expiry, &race_report::eternal},
        seeded_bug{"everybody_loads", race_bug::everybody_loads, &race_report::overlapping},
        seeded_bug{"delete_before_the_write", race_bug::delete_before_the_write,
                   &race_report::stale},
        seeded_bug{"no_note", race_bug::no_note, &race_report::stale}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace holdfast::test

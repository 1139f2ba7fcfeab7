// SPDX-License-Identifier: Apache-2.0
//
// Which clock a file has, for every way in which a process may find it.
#include "driver/sqlite/clock_choice.hpp"

#include <gtest/gtest.h>

namespace holdfast::test {
namespace {

using namespace holdfast::sqlite;

constexpr std::int64_t second = 1'000'000;

/// A file that was last used at an uptime of 1,000 s, at 5,000 s of the time of day.
class clock_rules : public testing::Test {
protected:
    clock_choice at_uptime(std::int64_t seconds) {
        asked.now.since_boot = seconds * second;
        asked.now.day = asked.now.since_boot + 4000 * second;
        return choose_clock(asked);
    }
    [[nodiscard]] std::int64_t time(const clock_choice& chosen) const {
        return asked.now.since_boot + chosen.ahead;
    }
    static constexpr std::int64_t noted = 5000 * second;
    clock_question asked{
        .noted =
            noted_clock{.boot = "a", .ahead = 4000 * second, .seen = noted, .born = 4000 * second},
        .now = {.boot = "a"}};
};

TEST_F(clock_rules, a_new_file_has_the_time_of_day) {
    asked.noted.reset();
    EXPECT_EQ(time(at_uptime(10)), 4010 * second);
    asked.largest_fence = 9000 * second;
    EXPECT_EQ(time(at_uptime(10)), 9000 * second);
}

TEST_F(clock_rules, the_same_boot_keeps_its_clock) {
    for (const std::int64_t uptime : {1000, 1001, 1030, 99999}) {
        EXPECT_EQ(at_uptime(uptime).verdict, clock_verdict::keep) << uptime;
    }
}

TEST_F(clock_rules, another_id_takes_over_the_clock_that_others_use) {
    asked.now.boot = "b";
    asked.used_by_others = true;
    const auto chosen = at_uptime(1001);
    EXPECT_EQ(chosen.verdict, clock_verdict::keep);
    EXPECT_EQ(chosen.ahead, 4000 * second);
}

TEST_F(clock_rules, a_clock_behind_the_one_that_others_use_is_refused_whatever_its_id) {
    asked.used_by_others = true;
    for (const char* id : {"a", "b"}) {
        asked.now.boot = id;
        const auto chosen = at_uptime(900);
        EXPECT_EQ(chosen.verdict, clock_verdict::refuse);
        EXPECT_EQ(chosen.behind, 100 * second);
    }
}

TEST_F(clock_rules, a_clock_that_has_gone_back_starts_anew_past_all_that_was_given_out) {
    for (const char* id : {"a", "b"}) {  // also if an id repeats
        asked.now.boot = id;
        const auto chosen = at_uptime(10);
        EXPECT_EQ(chosen.verdict, clock_verdict::start);
        EXPECT_EQ(time(chosen), noted + note_margin);
        EXPECT_EQ(chosen.shift, 0) << "its holders are gone";
    }
}

TEST_F(clock_rules, in_doubt_the_time_leaps_and_everything_in_the_file_leaps_with_it) {
    asked.now.boot = "b";
    const auto soon = at_uptime(1001);
    EXPECT_EQ(soon.verdict, clock_verdict::start);
    EXPECT_EQ(time(soon), noted + note_margin);
    EXPECT_EQ(soon.shift, note_margin - 1 * second);
    const auto later = at_uptime(2000);
    EXPECT_EQ(time(later), 6000 * second);
    EXPECT_EQ(later.shift, 0);
}

TEST_F(clock_rules, an_id_that_repeats_at_the_same_uptime_is_known_by_the_time_of_day) {
    asked.now.since_boot = 1001 * second;
    asked.now.day = 7000 * second;  // the machine was off for a while
    const auto chosen = choose_clock(asked);
    EXPECT_EQ(chosen.verdict, clock_verdict::start);
    EXPECT_EQ(time(chosen), 7000 * second);
    EXPECT_EQ(chosen.shift, 1999 * second);
}

}  // namespace
}  // namespace holdfast::test

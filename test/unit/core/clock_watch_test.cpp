// SPDX-License-Identifier: Apache-2.0
#include "core/clock_watch.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

class clock_watched : public testing::Test {
protected:
    /// A sample whose answer took so long, of a clock that is so far ahead.
    duration look(duration at, duration ahead, duration trip = 2ms, duration allowed = 12ms) {
        const time_point sent(1h + at);
        const auto shown = std::chrono::floor<std::chrono::microseconds>(100h + at + ahead);
        return watch.see({wall_time(shown), sent, sent + trip}, allowed);
    }
    clock_watch watch;
};

TEST_F(clock_watched, the_first_sample_tells_nothing) {
    EXPECT_EQ(look(0s, 5h), 0s);
}

TEST_F(clock_watched, a_step_is_told_once_and_about_how_far_it_was) {
    EXPECT_EQ(look(0s, 0s), 0s);
    EXPECT_EQ(look(1s, 0s), 0s);
    EXPECT_NEAR(std::chrono::duration<double>(look(2s, 1min)).count(), 60.0, 0.1);
    EXPECT_EQ(look(3s, 1min), 0s);
    EXPECT_NEAR(std::chrono::duration<double>(look(4s, 0s)).count(), -60.0, 0.1);
}

TEST_F(clock_watched, what_drift_and_the_round_trip_explain_is_no_step) {
    EXPECT_EQ(look(0s, 0s), 0s);
    EXPECT_EQ(look(10s, 100ms), 0s) << "1 %";
    EXPECT_EQ(look(20s, 200ms), 0s);
    EXPECT_EQ(look(21s, 1200ms, 3s), 0s) << "the answer took that long";
    EXPECT_EQ(look(22s, 220ms), 0s) << "and taught nothing wrong";
}

TEST_F(clock_watched, a_step_within_what_a_lease_allows_for_is_not_told) {
    EXPECT_EQ(look(0s, 0s), 0s);
    EXPECT_EQ(look(100ms, 10ms, 1us), 0s);
    EXPECT_GT(look(200ms, 40ms, 1us), 0s);
}

}  // namespace
}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "core/validity.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
constexpr time_point t0{1h};

TEST(validity, is_believed_from_before_the_request_and_less_than_the_ttl) {
    EXPECT_EQ(valid_until(t0, 10s), t0 + 10s - 102ms);
}

TEST(validity, never_outlives_the_engine_whose_clock_runs_one_percent_fast) {
    for (const duration ttl : {duration(10ms), duration(1s), duration(30s), duration(24h)}) {
        const duration engine_lives = ttl * 99 / 100;  // by our clock
        EXPECT_LT(valid_until(t0, ttl), t0 + engine_lives);
        EXPECT_GT(valid_until(t0, ttl), t0);
    }
}

TEST(validity, renews_after_one_third_of_the_ttl) {
    EXPECT_EQ(renew_at(t0, 9s), t0 + 3s);
}

TEST(validity, a_drift_that_is_named_is_taken_off_and_renewed_within_the_rest) {
    EXPECT_EQ(valid_until(t0, 10s, 4s), t0 + 6s - 2ms);
    EXPECT_EQ(valid_until(t0, 10s, 0s), t0 + 10s - 2ms);
    EXPECT_EQ(renew_at(t0, 10s, 4s), t0 + duration(6s - 2ms) / 3);
}

TEST(validity, a_renewal_asks_for_no_more_than_is_believed_in_until_the_end) {
    EXPECT_EQ(ttl_until(time_point::max(), t0, 30s), 30s);
    EXPECT_EQ(ttl_until(t0 + 1min, t0, 30s), 30s);
    for (const duration left : {1ms, 50ms, 2000ms, 29000ms}) {
        for (const std::optional<duration> drift : {std::optional<duration>(), {100ms}}) {
            const duration asked = ttl_until(t0 + left, t0, 30s, drift);
            EXPECT_GE(valid_until(t0, asked, drift), t0 + std::min<duration>(left, 29s));
            EXPECT_LE(asked, std::max<duration>(10ms, left + left / 50 + 110ms));
        }
    }
    EXPECT_EQ(ttl_until(t0 - 1s, t0, 30s), 10ms) << "never for nothing";
}

TEST(validity, adds_without_wrapping) {
    EXPECT_EQ(later(t0, duration::max()), time_point::max());
    EXPECT_EQ(later(t0, 1s), t0 + 1s);
}

}  // namespace
}  // namespace holdfast

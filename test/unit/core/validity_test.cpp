// SPDX-License-Identifier: Apache-2.0
#include "core/validity.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
constexpr time_point t0{1h};

TEST(validity, is_believed_from_before_the_request_and_less_than_the_ttl) {
    EXPECT_EQ(believed_until(t0, 10s), t0 + 10s - 102ms);
}

TEST(validity, never_outlives_the_engine_whose_clock_runs_one_percent_fast) {
    for (const duration ttl : {duration(10ms), duration(1s), duration(30s), duration(24h)}) {
        const duration engine_lives = ttl * 99 / 100;  // by our clock
        EXPECT_LT(believed_until(t0, ttl), t0 + engine_lives);
        EXPECT_GT(believed_until(t0, ttl), t0);
    }
}

TEST(validity, renews_after_one_third_of_the_ttl) { EXPECT_EQ(renew_at(t0, 9s), t0 + 3s); }

TEST(validity, adds_without_wrapping) {
    EXPECT_EQ(later(t0, duration::max()), time_point::max());
    EXPECT_EQ(later(t0, 1s), t0 + 1s);
}

}  // namespace
}  // namespace holdfast

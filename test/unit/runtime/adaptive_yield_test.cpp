// SPDX-License-Identifier: Apache-2.0
#include "runtime/adaptive_yield.hpp"

#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

class adaptive_yielding : public testing::Test {
protected:
    static constexpr auto long_rest = 2s;
    /// Pauses do not matter to it.
    static constexpr adaptive_yield::habits lone = adaptive_yield::with_several();

    /// Each turn takes so long, and the answer is there after so many.
    bool wait(adaptive_yield& by, duration turn, int answer_after) {
        int turns = 0;
        const bool there = by.until([&] {
            time_.advance(turn);
            return ++turns >= answer_after;
        });
        turns_ = turns;
        return there;
    }
    /// Until it does not even try any more.
    int failures_until_rest(adaptive_yield& by, duration turn) {
        for (int i = 0; i < 100; ++i) {
            EXPECT_FALSE(wait(by, turn, 1'000'000));
            if (turns_ == 0) return i;
        }
        return -1;
    }
    /// How long it rests from now on.
    duration rest(adaptive_yield& by) {
        const time_point start = time_.now();
        while (!wait(by, 1us, 1)) time_.advance(1ms);
        return time_.now() - start;
    }

    virtual_clock time_;
    int turns_ = 0;
};

TEST_F(adaptive_yielding, ends_with_the_answer) {
    adaptive_yield one(time_, lone);
    EXPECT_TRUE(wait(one, 1us, 7));
    EXPECT_EQ(turns_, 7);
}

TEST_F(adaptive_yielding, ends_after_a_moment_without_it) {
    adaptive_yield one(time_, lone);
    EXPECT_FALSE(wait(one, 10us, 1'000'000));
    EXPECT_LE(turns_, 11);
    adaptive_yield many(time_, adaptive_yield::crowded(8));
    EXPECT_FALSE(wait(many, 10us, 1'000'000));
    EXPECT_EQ(turns_, 8);
}

TEST_F(adaptive_yielding, ends_also_if_no_time_passes) {
    adaptive_yield one(time_, lone);
    EXPECT_FALSE(wait(one, 0us, 1'000'000));
}

TEST_F(adaptive_yielding, is_not_tried_where_it_never_helps) {
    adaptive_yield one(time_, lone);
    EXPECT_EQ(failures_until_rest(one, 10us), 3);
    const duration first = rest(one);
    EXPECT_GE(first, 19ms);
    duration last = first;
    for (int i = 0; i < 10; ++i) {
        EXPECT_GE(failures_until_rest(one, 10us), 0);
        const duration now = rest(one);
        EXPECT_GE(now + 2ms, last);
        last = now;
    }
    EXPECT_GE(last, 900ms);
    EXPECT_LE(last, long_rest);
}

TEST_F(adaptive_yielding, is_tried_soon_again_where_it_helped) {
    adaptive_yield one(time_, lone);
    for (int i = 0; i < 5; ++i) {
        EXPECT_GE(failures_until_rest(one, 10us), 0);
        static_cast<void>(rest(one));
    }
    for (int i = 0; i < 64; ++i) EXPECT_TRUE(wait(one, 1us, 3));
    EXPECT_GT(failures_until_rest(one, 10us), 10) << "it has earned some trust";
    EXPECT_LE(rest(one), 25ms);
}

TEST_F(adaptive_yielding, stops_where_another_program_has_work_to_do) {
    adaptive_yield one(time_, lone);
    EXPECT_FALSE(wait(one, 3ms, 1'000'000));
    EXPECT_EQ(turns_, 2) << "the first shows nothing yet: time passes behind it";
    EXPECT_FALSE(wait(one, 1us, 1));
    EXPECT_EQ(turns_, 0);
    adaptive_yield trusted(time_, lone);
    for (int i = 0; i < 64; ++i) EXPECT_TRUE(wait(trusted, 1us, 1));
    EXPECT_FALSE(wait(trusted, 3ms, 1'000'000));
    EXPECT_TRUE(wait(trusted, 1us, 1)) << "once is no habit";
}

TEST_F(adaptive_yielding, is_not_tried_after_a_pause) {
    adaptive_yield one(time_, adaptive_yield::alone());
    time_.advance(1s);
    EXPECT_FALSE(wait(one, 1us, 1)) << "the first";
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(wait(one, 1us, 1));
    time_.advance(long_pause + 10us);
    EXPECT_FALSE(wait(one, 1us, 1));
    EXPECT_EQ(turns_, 0);
    EXPECT_TRUE(wait(one, 1us, 1)) << "no longer";
    time_.advance(1s);
    one.heard();
    EXPECT_TRUE(wait(one, 1us, 1)) << "the server is awake";
    adaptive_yield many(time_, adaptive_yield::crowded(8));
    EXPECT_TRUE(wait(many, 1us, 1)) << "the others make no pause";
}

TEST_F(adaptive_yielding, goes_on_where_a_long_turn_went_to_the_company) {
    const auto turns_among = [&](int others) {
        adaptive_yield many(time_, adaptive_yield::crowded(8));
        int turns = 0;
        EXPECT_FALSE(many.until([&] {
            ++turns;
            time_.advance(3ms);
            for (int i = 0; i < others; ++i) EXPECT_TRUE(many.until([] { return true; }));
            return false;
        }));
        return turns;
    };
    EXPECT_EQ(turns_among(0), 2);
    EXPECT_EQ(turns_among(40), 2) << "most of the time went elsewhere";
    EXPECT_EQ(turns_among(80), 8);
}

}  // namespace
}  // namespace holdfast::detail

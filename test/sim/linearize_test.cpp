// SPDX-License-Identifier: Apache-2.0
#include "linearize.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;
using kind = lock_operation::kind;

constexpr std::size_t most = 10'000;

lock_operation acquired(std::uint64_t holder, std::uint64_t fence, moment called, moment returned) {
    return {.what = kind::acquire,
            .holder = holder,
            .fence = fence,
            .called = called,
            .returned = returned};
}

lock_operation ended(std::uint64_t holder, moment called, moment returned) {
    return {.what = kind::end, .holder = holder, .called = called, .returned = returned};
}

lock_operation refused(std::uint64_t holder, moment called, moment returned) {
    return {.what = kind::refused, .holder = holder, .called = called, .returned = returned};
}

TEST(linearize, takes_one_holder_after_the_other) {
    const std::vector all{acquired(1, 10, 0ms, 1ms), ended(1, 5ms, 6ms), acquired(2, 11, 0ms, 7ms)};
    EXPECT_TRUE(linearize(all, most).possible);
}

TEST(linearize, finds_two_holders_at_once) {
    const std::vector all{acquired(1, 10, 0ms, 1ms), acquired(2, 11, 2ms, 3ms), ended(1, 5ms, 6ms)};
    EXPECT_FALSE(linearize(all, most).possible);
}

TEST(linearize, finds_a_fence_that_goes_back) {
    const std::vector all{acquired(1, 10, 0ms, 1ms), ended(1, 2ms, 3ms), acquired(2, 9, 4ms, 5ms)};
    EXPECT_FALSE(linearize(all, most).possible);
}

TEST(linearize, finds_one_that_was_refused_while_nobody_held_it) {
    const std::vector all{acquired(1, 10, 0ms, 1ms), ended(1, 2ms, 3ms), refused(2, 4ms, 5ms)};
    EXPECT_FALSE(linearize(all, most).possible);
}

TEST(linearize, allows_a_refusal_while_a_release_is_on_its_way) {
    const std::vector all{acquired(1, 10, 0ms, 1ms), ended(1, 2ms, 9ms), refused(2, 4ms, 5ms)};
    EXPECT_TRUE(linearize(all, most).possible);
}

TEST(linearize, lets_what_may_have_happened_happen_late_or_never) {
    lock_operation maybe = acquired(3, 0, 0ms, moment::max());
    lock_operation its_end = ended(3, 0ms, moment::max());
    maybe.must_happen = its_end.must_happen = false;
    const std::vector late{acquired(1, 10, 0ms, 1ms), ended(1, 2ms, 3ms),       maybe, its_end,
                           refused(2, 4ms, 5ms),      acquired(4, 11, 6ms, 7ms)};
    EXPECT_TRUE(linearize(late, most).possible);
    const std::vector never{acquired(1, 10, 0ms, 1ms), maybe, its_end, ended(1, 2ms, 3ms)};
    EXPECT_TRUE(linearize(never, most).possible);
}

TEST(linearize, forgets_what_may_have_happened_once_its_time_is_over) {
    lock_operation maybe = acquired(3, 0, 0ms, 2ms);
    maybe.must_happen = false;
    const std::vector all{acquired(1, 10, 0ms, 1ms), ended(1, 3ms, 4ms), maybe,
                          refused(2, 5ms, 6ms)};
    EXPECT_FALSE(linearize(all, most).possible) << "3 was never granted it, and 1 had gone";
}

// Four that contend, as in the fault lab: each asks again as soon as it has ended.
TEST(linearize, takes_thousands_of_operations) {
    std::vector<lock_operation> all;
    std::array<moment, 4> asked{};
    moment now = 0ms;
    for (std::uint64_t n = 1; n <= 2000; ++n) {
        all.push_back(acquired(n, n, asked[n % 4], now + 1ms));
        all.push_back(ended(n, now + 2ms, now + 4ms));
        asked[n % 4] = now += 3ms;
    }
    const auto found = linearize(all, 100'000);
    EXPECT_TRUE(found.possible);
    EXPECT_FALSE(found.given_up);
    all[3000].fence = 1;
    EXPECT_FALSE(linearize(all, 100'000).possible) << "a fence that goes back is still found";
}

TEST(linearize, says_so_when_it_gives_up) {
    const std::vector all{acquired(1, 10, 0ms, 1ms), acquired(2, 11, 2ms, 3ms), ended(1, 5ms, 6ms)};
    const auto found = linearize(all, 1);
    EXPECT_TRUE(found.given_up);
    EXPECT_TRUE(found.possible);
}

}  // namespace
}  // namespace holdfast::sim

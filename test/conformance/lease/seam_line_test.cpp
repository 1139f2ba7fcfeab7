// SPDX-License-Identifier: Apache-2.0
//
// What every engine's lease_store promises to those who wait.
#include "conformance/lease/seam_fixture.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::test {
namespace {

class lease_seam_line : public lease_seam {};

TEST_P(lease_seam_line, hands_a_released_name_to_the_first_in_line_and_wakes_nobody_else) {
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    const auto held = one.acquire(job, a);
    two.join_queue(job, b);
    one.join_queue(job, c);
    ASSERT_TRUE(one.release(job, a));
    const auto push = two.next_push();
    EXPECT_EQ(push.owner, b);
    EXPECT_GT(push.fence, fence(held));
    EXPECT_TRUE(one.heard().empty());
    const auto mine = two.acquire(job, b);
    ASSERT_TRUE(granted(mine)) << "a wake means owned";
    EXPECT_EQ(fence(mine), push.fence);
    EXPECT_TRUE(busy(one.acquire(job, a)));
}

TEST_P(lease_seam_line, keeps_a_place_by_looking_again) {
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    const auto place = one.join_queue(job, b);
    two.join_queue(job, c);
    for (int i = 0; i < 6; ++i) {
        bed->pass(1s);
        ASSERT_TRUE(one.renew(job, a));
        EXPECT_EQ(one.join_queue(job, b, place.ticket).ahead, 0U);
        EXPECT_EQ(two.join_queue(job, c).ahead, 1U);
    }
}

TEST_P(lease_seam_line, passes_over_a_waiter_that_has_not_looked_for_some_seconds) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    one.join_queue(job, b);
    for (int i = 0; i < 4; ++i) {
        bed->pass(1s);
        ASSERT_TRUE(one.renew(job, a));
        two.join_queue(job, c);
    }
    ASSERT_TRUE(one.release(job, a));
    EXPECT_EQ(two.next_push().owner, c);
    EXPECT_TRUE(one.heard().empty());
}

TEST_P(lease_seam_line, passes_over_a_waiter_whose_client_is_gone_at_once) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    {
        party gone(*bed);
        gone.join_queue(job, b);
    }
    two.join_queue(job, c);
    ASSERT_TRUE(one.release(job, a));
    EXPECT_EQ(two.next_push().owner, c);
}

TEST_P(lease_seam_line, gives_back_its_place_to_a_waiter_that_the_engine_forgot) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    const auto early = one.join_queue(job, b);
    for (int i = 0; i < 4; ++i) {
        bed->pass(1s);
        ASSERT_TRUE(one.renew(job, a));
        if (i > 0) two.join_queue(job, c);
    }
    EXPECT_EQ(one.join_queue(job, b, early.ticket).ahead, 0U);
    EXPECT_EQ(two.join_queue(job, c).ahead, 1U);
}

TEST_P(lease_seam_line, tells_the_head_to_look_when_a_dead_holders_time_is_over) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    ASSERT_TRUE(granted(one.acquire(job, a)));
    const duration rest = std::min<duration>(ttl / 3, 900ms);  // before it would look anyway
    bed->pass(ttl - rest);
    const auto head = two.join_queue(job, b);
    EXPECT_LE(head.poll_after, rest + 50ms);  // a slow server of a quorum granted it later
    bed->pass(head.poll_after);
    EXPECT_TRUE(granted(two.acquire(job, b, ask::when_busy::join_queue, head.ticket)));
}

TEST_P(lease_seam_line, lets_any_waiters_look_help_the_head) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl - 500ms);
    two.join_queue(job, b);
    one.join_queue(job, c);
    bed->pass(505ms);
    EXPECT_TRUE(busy(one.acquire(job, c, ask::when_busy::join_queue)));
    EXPECT_EQ(two.next_push().owner, b);
}

TEST_P(lease_seam_line, lets_nobody_overtake_the_line_after_a_holder_died) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl - 700ms);
    two.join_queue(job, b);
    bed->pass(705ms);
    EXPECT_TRUE(busy(one.acquire(job, c))) << "a newcomer that would not even wait";
    EXPECT_EQ(two.next_push().owner, b);
}

TEST_P(lease_seam_line, takes_back_a_handoff_that_is_not_claimed) {
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.join_queue(job, b);
    ASSERT_TRUE(one.release(job, a));
    const duration claim = two.next_push().ttl;
    EXPECT_LE(claim, std::max<duration>(ttl, 3s));
    bed->pass(claim + bed->late() + 5ms);  // b was paused and says nothing
    EXPECT_TRUE(granted(one.acquire(job, c)));
    EXPECT_FALSE(two.renew(job, b));
}

TEST_P(lease_seam_line, lets_a_waiter_leave_without_a_trace) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.join_queue(job, b);
    EXPECT_TRUE(two.leave(job, b));
    // A minority of a quorum may have been slow to hear of the place, and of its end.
    EXPECT_TRUE(!two.leave(job, b) || !two.store().can().fair);
    ASSERT_TRUE(one.release(job, a));
    EXPECT_TRUE(two.heard().empty());
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam_line, passes_on_what_was_handed_to_a_waiter_that_was_just_leaving) {
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.join_queue(job, b);
    one.join_queue(job, c);
    ASSERT_TRUE(one.release(job, a));  // b's from here on
    EXPECT_TRUE(two.leave(job, b));
    EXPECT_EQ(one.next_push().owner, c);
}

TEST_P(lease_seam_line, bounds_the_line) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    ASSERT_TRUE(granted(one.acquire(job, a)));
    std::optional<error> refused;
    const time_point began = bed->time().now();
    for (int i = 0; i < 1100 && !refused; ++i) {
        const auto reply = one.acquire(job, owner(), ask::when_busy::join_queue);
        if (!reply) refused = reply.error();
    }
    if (!refused && bed->time().now() - began > 2s) {
        GTEST_SKIP() << "allowed: so slow that the first have left before the line is full";
    }
    ASSERT_TRUE(refused);
    EXPECT_EQ(*refused, errc::busy);
    EXPECT_NE(refused->detail.find("full"), std::string::npos) << refused->detail;
}

TEST_P(lease_seam_line, drops_the_dead_ahead_of_one_that_looks_again) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    party gone(*bed);
    gone.join_queue(job, b);
    const auto place = two.join_queue(job, c);
    EXPECT_EQ(place.ahead, 1U);
    answer::busy seen;
    for (int look = 0; look < 8 && (look == 0 || seen.ahead > 0); ++look) {
        bed->pass(700ms);
        ASSERT_TRUE(one.renew(job, a));
        seen = two.join_queue(job, c, place.ticket);
    }
    EXPECT_EQ(seen.ahead, 0U);
}

TEST_P(lease_seam_line, lets_one_that_barges_take_a_free_name_before_the_line) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    ASSERT_TRUE(granted(one.acquire(job, a)));
    auto barging = plain(job, b);
    barging.otherwise = ask::when_busy::join_queue;
    barging.barge = true;
    ASSERT_TRUE(busy(two.send(barging)));
    ASSERT_TRUE(one.release(job, a));
    const auto told = two.next_push();
    EXPECT_EQ(told.owner, b);
    EXPECT_EQ(told.ttl, duration::zero()) << "it is free, not handed off";
    auto quicker = plain(job, c);
    quicker.barge = true;
    EXPECT_TRUE(granted(one.send(quicker)));
    EXPECT_TRUE(busy(two.send(barging)));
    ASSERT_TRUE(one.release(job, c));
    EXPECT_TRUE(granted(two.send(barging)));
    EXPECT_TRUE(two.release(job, b));
    EXPECT_TRUE(granted(one.acquire(job, a))) << "nobody is left in line";
}

TEST_P(lease_seam_line, lets_a_fair_one_wait_behind_one_that_barges) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    auto barging = plain(job, b);
    barging.otherwise = ask::when_busy::join_queue;
    barging.barge = true;
    ASSERT_TRUE(busy(two.send(barging)));
    const auto place = two.join_queue(job, c);
    ASSERT_TRUE(one.release(job, a));
    EXPECT_EQ(two.next_push().owner, b);
    EXPECT_TRUE(busy(two.acquire(job, c, ask::when_busy::join_queue, place.ticket)));
    ASSERT_TRUE(granted(two.send(barging)));
    ASSERT_TRUE(two.release(job, b));
    std::vector<handed_off> all;
    const auto given = [&] { return !all.empty() && all.back().owner == c; };
    wait_for("a handoff to the fair one", [&] {
        std::ranges::copy(two.heard(), std::back_inserter(all));
        return given();
    });
    EXPECT_GT(all.back().ttl, duration::zero());
}

INSTANTIATE_TEST_SUITE_P(on, lease_seam_line, testing::ValuesIn(lease_engines()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test

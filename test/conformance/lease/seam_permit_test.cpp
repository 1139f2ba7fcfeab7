// SPDX-License-Identifier: Apache-2.0
//
// What every engine's lease_store promises to those who take permits.
#include "conformance/lease/modes_fixture.hpp"

namespace holdfast::test {
namespace {

using testing::ElementsAre;

class lease_seam_permit : public modes_seam {};

TEST_P(lease_seam_permit, gives_as_many_as_there_are_and_no_more) {
    EXPECT_TRUE(takes(one, a, permits(1, 3)));
    EXPECT_TRUE(takes(two, b, permits(1, 3)));
    EXPECT_TRUE(takes(one, c, permits(1, 3)));
    EXPECT_TRUE(busy(ask_for(two, d, permits(1, 3))));
    EXPECT_TRUE(releases(two, b, permits(1, 3)));
    EXPECT_TRUE(takes(two, d, permits(1, 3)));
    EXPECT_TRUE(busy(ask_for(one, e, permits(1, 3))));
}

TEST_P(lease_seam_permit, gives_several_at_once_or_none) {
    EXPECT_TRUE(takes(one, a, permits(3, 5)));
    EXPECT_TRUE(busy(ask_for(two, b, permits(3, 5))));
    EXPECT_TRUE(takes(two, c, permits(2, 5)));
    EXPECT_TRUE(busy(ask_for(two, d, permits(1, 5))));
    EXPECT_TRUE(releases(one, a, permits(3, 5)));
    EXPECT_TRUE(takes(two, b, permits(3, 5)));
}

TEST_P(lease_seam_permit, draws_a_fence_for_every_grant) {
    const auto first = fence_for(one, a, permits(1, 2));
    const auto second = fence_for(two, b, permits(1, 2));
    EXPECT_NE(first, second);
    ASSERT_TRUE(releases(one, a, permits(1, 2)));
    EXPECT_GT(fence_for(one, c, permits(1, 2)), std::max(first, second));
}

TEST_P(lease_seam_permit, lets_nobody_overtake_one_that_wants_many) {
    ASSERT_TRUE(takes(one, a, permits(1, 3)));
    waits(two, b, permits(3, 3));
    EXPECT_TRUE(busy(ask_for(one, c, permits(1, 3)))) << "two are free, but not for it";
    waits(one, d, permits(1, 3));
    ASSERT_TRUE(releases(one, a, permits(1, 3)));
    EXPECT_EQ(two.next_push().owner, b);
    EXPECT_TRUE(one.heard().empty());
    ASSERT_TRUE(releases(two, b, permits(3, 3)));
    EXPECT_EQ(one.next_push().owner, d);
}

TEST_P(lease_seam_permit, gives_to_as_many_at_the_head_of_the_line_as_fit) {
    ASSERT_TRUE(takes(one, a, permits(4, 4)));
    waits(two, b, permits(1, 4));
    waits(two, c, permits(2, 4));
    waits(two, d, permits(2, 4));
    waits(two, e, permits(1, 4));
    ASSERT_TRUE(releases(one, a, permits(4, 4)));
    EXPECT_THAT(told(two, 2), ElementsAre(b, c));
    EXPECT_TRUE(busy(ask_for(one, a, permits(1, 4)))) << "one is left, for d";
    ASSERT_TRUE(releases(two, b, permits(1, 4)));
    EXPECT_THAT(told(two, 1), ElementsAre(d));
}

TEST_P(lease_seam_permit, gets_back_what_a_dead_holder_had_at_its_ttl_and_not_before) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    ASSERT_TRUE(takes(one, a, permits(2, 3)));
    bed->pass(ttl / 2);
    ASSERT_TRUE(takes(two, b, permits(1, 3)));
    const duration rest = std::min<duration>(ttl / 3, 500ms);
    bed->pass(ttl / 2 - rest);
    const auto head = waits(two, c, permits(2, 3));
    EXPECT_LE(head.poll_after, rest + 3ms);
    bed->pass(head.poll_after + 1ms);
    EXPECT_TRUE(granted(ask_for(two, c, permits(2, 3), when::join_queue, head.ticket)));
    EXPECT_FALSE(renews(one, a, permits(2, 3)));
    EXPECT_FALSE(releases(one, a, permits(2, 3)));
    EXPECT_TRUE(busy(ask_for(one, d, permits(1, 3))));
}

TEST_P(lease_seam_permit, keeps_the_permits_of_one_that_renews) {
    ASSERT_TRUE(takes(one, a, permits(1, 2)));
    ASSERT_TRUE(takes(two, b, permits(1, 2)));
    for (int i = 0; i < 3; ++i) {
        bed->pass(ttl / 2);
        EXPECT_TRUE(renews(one, a, permits(1, 2)));
    }
    EXPECT_TRUE(takes(two, c, permits(1, 2)));
    EXPECT_TRUE(busy(ask_for(two, d, permits(1, 2))));
}

TEST_P(lease_seam_permit, counts_a_repeated_acquire_once) {
    ASSERT_TRUE(takes(one, a, permits(2, 4)));
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(takes(one, a, permits(2, 4)));
    ASSERT_TRUE(takes(two, b, permits(2, 4)));
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(takes(one, a, permits(2, 4))) << "although all are held";
    EXPECT_TRUE(releases(one, a, permits(2, 4)));
    EXPECT_FALSE(releases(one, a, permits(2, 4)));
    EXPECT_TRUE(takes(one, c, permits(2, 4)));
    EXPECT_TRUE(busy(ask_for(one, d, permits(1, 4))));
}

TEST_P(lease_seam_permit, refuses_more_than_there_are) {
    EXPECT_EQ(code(ask_for(one, a, permits(4, 3))), errc::invalid_argument);
    EXPECT_EQ(code(ask_for(one, a, permits(0, 3))), errc::invalid_argument);
    EXPECT_EQ(code(ask_for(one, a, permits(1, 0))), errc::invalid_argument);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam_permit, gives_those_who_wait_what_a_larger_limit_adds_at_once) {
    if (!one.store().can().resize) GTEST_SKIP() << "allowed: this engine has no resize()";
    ASSERT_TRUE(takes(one, a, permits(1, 1)));
    waits(two, b, permits(1, 1));
    waits(two, c, permits(1, 1));
    waits(two, d, permits(1, 1));
    ASSERT_TRUE(one.store().resize(job, 3, bed->time().now() + 5s));
    EXPECT_THAT(told(two, 2), ElementsAre(b, c)) << "although all of them said 1";
    EXPECT_TRUE(busy(ask_for(one, e, permits(1, 1))));
}

TEST_P(lease_seam_permit, takes_nothing_from_holders_when_the_limit_shrinks) {
    if (!one.store().can().resize) GTEST_SKIP() << "allowed: this engine has no resize()";
    ASSERT_TRUE(takes(one, a, permits(2, 4)));
    ASSERT_TRUE(takes(two, b, permits(2, 4)));
    ASSERT_TRUE(two.store().resize(job, 2, bed->time().now() + 5s));
    EXPECT_TRUE(renews(one, a, permits(2, 4)));
    EXPECT_TRUE(renews(two, b, permits(2, 4)));
    ASSERT_TRUE(releases(one, a, permits(2, 4)));
    EXPECT_TRUE(busy(ask_for(one, c, permits(1, 4)))) << "two of two are held";
    ASSERT_TRUE(releases(two, b, permits(2, 4)));
    EXPECT_TRUE(takes(one, c, permits(1, 4)));
    EXPECT_TRUE(takes(one, d, permits(1, 4)));
    EXPECT_TRUE(busy(ask_for(one, e, permits(1, 4))));
}

TEST_P(lease_seam_permit, refuses_one_in_line_that_wants_more_than_there_are_now) {
    if (!one.store().can().resize) GTEST_SKIP() << "allowed: this engine has no resize()";
    ASSERT_TRUE(takes(one, a, permits(1, 4)));
    const auto place = waits(two, b, permits(4, 4));
    waits(two, c, permits(1, 4));
    ASSERT_TRUE(one.store().resize(job, 2, bed->time().now() + 5s));
    EXPECT_THAT(told(two, 1), ElementsAre(c)) << "it does not hold up the others";
    EXPECT_EQ(code(ask_for(two, b, permits(4, 4), when::join_queue, place.ticket)),
              errc::invalid_argument);
}

TEST_P(lease_seam_permit, refuses_a_limit_that_is_none) {
    if (!one.store().can().resize) GTEST_SKIP() << "allowed: this engine has no resize()";
    const auto said = one.store().resize(job, 0, bed->time().now() + 5s);
    ASSERT_FALSE(said);
    EXPECT_EQ(said.error(), errc::invalid_argument);
}

TEST_P(lease_seam_permit, refuses_a_semaphore_where_a_mutex_is_held_and_the_other_way_round) {
    ASSERT_TRUE(takes(one, a, exclusively));
    EXPECT_EQ(code(ask_for(two, b, permits(1, 3))), errc::invalid_argument);
    ASSERT_TRUE(releases(one, a, exclusively));
    ASSERT_TRUE(takes(one, a, shared));
    EXPECT_EQ(code(ask_for(two, b, permits(1, 3))), errc::invalid_argument);
    ASSERT_TRUE(takes(one, c, shared));
    EXPECT_EQ(code(ask_for(two, b, permits(1, 3))), errc::invalid_argument);
    ASSERT_TRUE(releases(one, a, shared));
    ASSERT_TRUE(releases(one, c, shared));
    ASSERT_TRUE(takes(two, b, permits(1, 3)));
    EXPECT_EQ(code(ask_for(one, a, exclusively, when::join_queue)), errc::invalid_argument);
    EXPECT_EQ(code(ask_for(one, a, shared)), errc::invalid_argument);
    EXPECT_EQ(code(ask_for(two, b, shared)), errc::invalid_argument) << "its own holder, too";
    ASSERT_TRUE(releases(two, b, permits(1, 3)));
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam_permit, lets_the_next_in_when_one_that_waited_for_many_gives_up) {
    ASSERT_TRUE(takes(one, a, permits(1, 3)));
    waits(one, b, permits(3, 3));
    waits(two, c, permits(1, 3));
    waits(two, d, permits(1, 3));
    ASSERT_TRUE(leaves(one, b, permits(3, 3)));
    EXPECT_THAT(told(two, 2), ElementsAre(c, d));
}

TEST_P(lease_seam_permit, leaves_nothing_behind) {
    ASSERT_TRUE(takes(one, a, permits(2, 3)));
    ASSERT_TRUE(takes(two, b, permits(1, 3)));
    waits(one, c, permits(3, 3));
    ASSERT_TRUE(releases(one, a, permits(2, 3)));
    ASSERT_TRUE(releases(two, b, permits(1, 3)));
    ASSERT_TRUE(releases(one, c, permits(3, 3)));
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam_permit, lists_how_many_are_held_of_how_many) {
    ASSERT_TRUE(takes(one, a, permits(2, 5)));
    EXPECT_EQ(listed().mode, permits(2, 5));
    ASSERT_TRUE(takes(two, b, permits(1, 5)));
    const auto seen = listed();
    EXPECT_EQ(seen.mode, permits(3, 5));
    ASSERT_EQ(seen.holders.size(), 2U);
    EXPECT_EQ(seen.holders[0].permits + seen.holders[1].permits, 3U);
}

INSTANTIATE_TEST_SUITE_P(on, lease_seam_permit, testing::ValuesIn(lease_engines()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test

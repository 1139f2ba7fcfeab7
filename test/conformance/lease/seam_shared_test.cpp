// SPDX-License-Identifier: Apache-2.0
//
// What every engine's lease_store promises to those who share a name, and to those who do not.
#include "conformance/lease/modes_fixture.hpp"

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

class lease_seam_shared : public modes_seam {};

TEST_P(lease_seam_shared, lets_readers_in_together_and_no_writer_beside_them) {
    EXPECT_TRUE(takes(one, a, shared));
    EXPECT_TRUE(takes(two, b, shared));
    EXPECT_TRUE(takes(one, c, shared));
    EXPECT_TRUE(busy(ask_for(two, d, exclusively)));
    EXPECT_TRUE(releases(one, a, shared));
    EXPECT_TRUE(releases(two, b, shared));
    EXPECT_TRUE(busy(ask_for(two, d, exclusively))) << "one reads still";
    EXPECT_TRUE(releases(one, c, shared));
    EXPECT_TRUE(takes(two, d, exclusively));
}

TEST_P(lease_seam_shared, lets_no_reader_in_beside_a_writer) {
    ASSERT_TRUE(takes(one, a, exclusively));
    EXPECT_TRUE(busy(ask_for(two, b, shared)));
    ASSERT_TRUE(releases(one, a, exclusively));
    EXPECT_TRUE(takes(two, b, shared));
}

TEST_P(lease_seam_shared, draws_a_fence_for_every_reader_and_a_higher_one_for_the_next_writer) {
    const auto first = fence_for(one, a, shared);
    const auto second = fence_for(two, b, shared);
    EXPECT_NE(first, second);
    ASSERT_TRUE(releases(one, a, shared));
    ASSERT_TRUE(releases(two, b, shared));
    const auto writer = fence_for(one, c, exclusively);
    EXPECT_GT(writer, std::max(first, second));
}

TEST_P(lease_seam_shared, lets_no_reader_overtake_a_writer_that_waits) {
    ASSERT_TRUE(takes(one, a, shared));
    waits(two, b, exclusively);
    EXPECT_TRUE(busy(ask_for(one, c, shared))) << "not even one that would not wait";
    EXPECT_EQ(waits(one, d, shared).ahead, 1U);
    ASSERT_TRUE(releases(one, a, shared));
    EXPECT_EQ(two.next_push().owner, b);
    EXPECT_TRUE(one.heard().empty());
}

TEST_P(lease_seam_shared, lets_readers_that_stand_in_a_row_in_together) {
    ASSERT_TRUE(takes(one, a, exclusively));
    waits(one, b, shared);
    waits(two, c, shared);
    waits(two, d, exclusively);
    waits(one, e, shared);
    ASSERT_TRUE(releases(one, a, exclusively));
    EXPECT_THAT(told(one, 1), ElementsAre(b));
    EXPECT_THAT(told(two, 1), ElementsAre(c));
    ASSERT_TRUE(takes(one, b, shared));
    ASSERT_TRUE(takes(two, c, shared));
    ASSERT_TRUE(releases(one, b, shared));
    EXPECT_TRUE(two.heard().empty());
    ASSERT_TRUE(releases(two, c, shared));
    EXPECT_THAT(told(two, 1), ElementsAre(d));
    ASSERT_TRUE(releases(two, d, exclusively));
    EXPECT_THAT(told(one, 1), ElementsAre(e));
}

TEST_P(lease_seam_shared, frees_the_writer_at_the_ttl_of_a_dead_reader_and_not_before) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    ASSERT_TRUE(takes(one, a, shared));
    bed->pass(ttl / 2);
    ASSERT_TRUE(takes(two, b, shared));
    ASSERT_TRUE(releases(two, b, shared));
    ASSERT_TRUE(takes(two, b, shared));  // lives; a has died
    const duration rest = std::min<duration>(ttl / 3, 500ms);
    bed->pass(ttl / 2 - rest);
    const auto head = waits(two, c, exclusively);
    EXPECT_LE(head.poll_after, rest + 3ms) << "it is told when the first of them ends";
    ASSERT_TRUE(releases(two, b, shared));
    EXPECT_TRUE(two.heard().empty()) << "a's time is not over";
    bed->pass(head.poll_after + 1ms);
    EXPECT_TRUE(granted(ask_for(two, c, exclusively, when::join_queue, head.ticket)));
    EXPECT_FALSE(renews(one, a, shared));
    EXPECT_FALSE(releases(one, a, shared));
}

TEST_P(lease_seam_shared, keeps_a_reader_that_renews) {
    ASSERT_TRUE(takes(one, a, shared));
    ASSERT_TRUE(takes(two, b, shared));
    for (int i = 0; i < 3; ++i) {
        bed->pass(ttl / 2);
        EXPECT_TRUE(renews(one, a, shared));
    }
    EXPECT_FALSE(renews(two, b, shared)) << "it did not renew";
    EXPECT_TRUE(busy(ask_for(two, c, exclusively)));
    ASSERT_TRUE(releases(one, a, shared));
    EXPECT_TRUE(takes(two, c, exclusively));
}

TEST_P(lease_seam_shared, renews_a_lone_reader_too) {
    ASSERT_TRUE(takes(one, a, shared));
    bed->pass(ttl * 2 / 3);
    ASSERT_TRUE(renews(one, a, shared));
    bed->pass(ttl * 2 / 3);
    EXPECT_TRUE(busy(ask_for(two, b, exclusively)));
    EXPECT_TRUE(releases(one, a, shared));
}

TEST_P(lease_seam_shared, adds_neither_time_nor_a_holder_when_it_is_asked_again) {
    const auto first = ask_for(one, a, shared);
    ASSERT_TRUE(takes(two, b, shared));
    const auto known = fence_for(one, a, shared);
    EXPECT_GE(known, fence(first));
    for (int i = 0; i < 4; ++i) EXPECT_EQ(fence_for(one, a, shared), known);
    EXPECT_LE(*listed().remaining, ttl + 2ms);
    ASSERT_TRUE(releases(two, b, shared));
    ASSERT_TRUE(releases(one, a, shared)) << "one release undoes any number of repeats";
    EXPECT_TRUE(takes(two, c, exclusively));
}

TEST_P(lease_seam_shared, adds_no_time_when_a_writer_asks_again) {
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(takes(one, a, exclusively));
    EXPECT_LE(*listed().remaining, ttl + 2ms);
}

TEST_P(lease_seam_shared, lets_waiting_readers_in_at_once_when_a_writer_becomes_one) {
    const auto held = fence_for(one, a, exclusively);
    waits(two, b, shared);
    waits(two, c, shared);
    waits(one, d, exclusively);
    const auto turned = downgrades(one, a, held);
    ASSERT_TRUE(granted(turned));
    EXPECT_EQ(fence(turned), held) << "it is the same holding";
    EXPECT_THAT(told(two, 2), ElementsAre(b, c));
    EXPECT_TRUE(one.heard().empty()) << "the writer behind them still waits";
    EXPECT_EQ(fence(downgrades(one, a, held)), held) << "it may be repeated";
    ASSERT_TRUE(releases(one, a, shared));
    ASSERT_TRUE(releases(two, b, shared));
    ASSERT_TRUE(releases(two, c, shared));
    EXPECT_EQ(one.next_push().owner, d);
}

TEST_P(lease_seam_shared, shares_nothing_for_a_writer_that_has_lost_it) {
    const auto held = fence_for(one, a, exclusively);
    bed->pass(ttl + bed->late() + 5ms);
    const auto turned = downgrades(one, a, held);
    ASSERT_TRUE(turned);
    if (granted(turned)) {
        EXPECT_GT(fence(turned), held) << "another lease, and it shows";
        ASSERT_TRUE(releases(one, a, shared));
    } else {
        EXPECT_TRUE(std::holds_alternative<answer::lost>(*turned));
    }
    EXPECT_TRUE(takes(two, b, exclusively));
}

TEST_P(lease_seam_shared, refuses_a_reader_that_wants_to_become_the_writer) {
    ASSERT_TRUE(takes(one, a, shared));
    EXPECT_EQ(code(ask_for(one, a, exclusively, when::join_queue)), errc::invalid_argument);
    ASSERT_TRUE(takes(two, b, shared));
    EXPECT_EQ(code(ask_for(one, a, exclusively, when::join_queue)), errc::invalid_argument);
    EXPECT_TRUE(takes(two, c, shared)) << "it does not stand in line";
    EXPECT_TRUE(releases(one, a, shared)) << "and has lost nothing";
}

TEST_P(lease_seam_shared, lets_readers_in_when_the_writer_before_them_gives_up) {
    ASSERT_TRUE(takes(one, a, shared));
    waits(one, b, exclusively);
    waits(two, c, shared);
    waits(two, d, shared);
    ASSERT_TRUE(leaves(one, b, exclusively));
    EXPECT_THAT(told(two, 2), ElementsAre(c, d));
}

TEST_P(lease_seam_shared, passes_on_what_was_handed_to_a_reader_that_was_just_leaving) {
    ASSERT_TRUE(takes(one, a, exclusively));
    waits(one, b, shared);
    waits(two, c, exclusively);
    ASSERT_TRUE(releases(one, a, exclusively));
    ASSERT_TRUE(leaves(one, b, shared));
    EXPECT_EQ(two.next_push().owner, c);
}

TEST_P(lease_seam_shared, takes_readers_in_again_that_came_by_when_a_dead_writers_time_was_over) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    ASSERT_TRUE(takes(one, a, exclusively));
    bed->pass(ttl - 200ms);
    const auto head = waits(two, b, shared);
    waits(two, c, shared);
    bed->pass(205ms);
    EXPECT_TRUE(granted(ask_for(two, b, shared, when::join_queue, head.ticket)));
    EXPECT_EQ(two.next_push().owner, c) << "the look of the first lets the second in, too";
}

TEST_P(lease_seam_shared, forgets_readers_whose_name_was_deleted) {
    ASSERT_TRUE(takes(one, a, shared));
    ASSERT_TRUE(takes(two, b, shared));
    bed->forget("job");
    EXPECT_FALSE(renews(one, a, shared));
    ASSERT_TRUE(takes(two, c, shared));
    ASSERT_TRUE(takes(two, d, shared));
    EXPECT_FALSE(renews(one, a, shared)) << "it is none of the new ones";
    EXPECT_FALSE(releases(two, b, shared));
    ASSERT_TRUE(releases(two, c, shared));
    ASSERT_TRUE(releases(two, d, shared));
    EXPECT_TRUE(takes(one, e, exclusively));
}

// As a release does on a server that is out of memory: it can delete the lock, and no more.
TEST_P(lease_seam_shared, takes_who_gets_in_out_of_a_line_that_its_lock_does_not_know_of) {
    ASSERT_TRUE(takes(one, a, exclusively));
    const auto head = waits(two, b, shared);
    bed->forget("job");
    const bool overtaken = granted(ask_for(one, c, shared));
    ASSERT_TRUE(granted(ask_for(two, b, shared, when::join_queue, head.ticket)));
    ASSERT_TRUE(releases(two, b, shared));
    ASSERT_TRUE(!overtaken || releases(one, c, shared));
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam_shared, leaves_nothing_behind) {
    ASSERT_TRUE(takes(one, a, shared));
    ASSERT_TRUE(takes(two, b, shared));
    waits(one, c, exclusively);
    waits(two, d, shared);
    ASSERT_TRUE(releases(two, b, shared));
    ASSERT_TRUE(releases(one, a, shared));
    ASSERT_TRUE(releases(one, c, exclusively));
    ASSERT_TRUE(releases(two, d, shared));
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam_shared, lists_how_a_name_is_held_and_by_how_many) {
    ASSERT_TRUE(takes(one, a, shared));
    EXPECT_EQ(listed().mode, shared);
    EXPECT_EQ(listed().holders.size(), 1U);
    const auto later = fence_for(two, b, shared);
    waits(two, c, exclusively);
    const auto seen = listed();
    EXPECT_EQ(seen.mode, shared);
    EXPECT_EQ(seen.holders.size(), 2U);
    EXPECT_EQ(seen.fence, later);
    EXPECT_EQ(seen.waiters, 1U);
    ASSERT_TRUE(seen.remaining);
    EXPECT_LE(*seen.remaining, ttl + 2ms);
    EXPECT_GT(*seen.remaining, ttl / 2);
}

INSTANTIATE_TEST_SUITE_P(on, lease_seam_shared, testing::ValuesIn(lease_engines()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test

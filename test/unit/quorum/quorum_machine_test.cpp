// SPDX-License-Identifier: Apache-2.0
#include "quorum_of.hpp"

#include "core/validity.hpp"
#include "lease/quorum/quorum_report.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace holdfast::detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST_F(quorum_of, asks_every_node_with_the_same_owner) {
    auto m = five(acquire());
    const auto begun = m.start(vote_start);
    ASSERT_EQ(begun.sends.size(), 5U);
    for (const auto& out : begun.sends) EXPECT_EQ(std::get<ask::acquire>(out.request).owner, owner);
    EXPECT_FALSE(begun.outcome);
}

TEST_F(quorum_of, five_that_draw_the_same_fence_is_granted_by_three_in_one_trip) {
    auto m = five(acquire());
    static_cast<void>(m.start(vote_start));
    EXPECT_FALSE(m.on_answer(0, granted(7), soon).outcome);
    EXPECT_FALSE(m.on_answer(1, granted(7), soon).outcome);
    const auto third = m.on_answer(2, granted(7), soon);
    EXPECT_TRUE(is_granted(third, 7));
    EXPECT_THAT(third.sends, IsEmpty());
    EXPECT_THAT(m.on_answer(3, granted(7), soon).sends, IsEmpty());
    EXPECT_THAT(m.on_answer(4, silent(), soon).sends, IsEmpty());
}

TEST_F(quorum_of, tells_the_largest_fence_only_when_a_majority_is_past_it) {
    auto m = five(acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, granted(9), soon));
    const auto third = m.on_answer(2, granted(5), soon);
    EXPECT_FALSE(third.outcome) << "of three, only one has drawn 9";
    EXPECT_THAT(raised(third), ElementsAre(Pair(0, 9), Pair(2, 9)));
    EXPECT_FALSE(m.on_answer(0, renewed(), soon).outcome);
    EXPECT_TRUE(is_granted(m.on_answer(2, renewed(), soon), 9));
}

TEST_F(quorum_of, counts_a_later_vote_that_is_past_the_fence_instead_of_an_answer_to_a_raise) {
    auto m = five(acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, granted(9), soon));
    static_cast<void>(m.on_answer(2, granted(9), soon));
    EXPECT_TRUE(is_granted(m.on_answer(3, granted(12), soon), 9));
    EXPECT_THAT(raised(m.on_answer(4, granted(2), soon)), ElementsAre(Pair(4, 9)))
        << "the straggler is brought into step";
}

TEST_F(quorum_of, spare_fences_are_kept_out_of_others_reach_too) {
    auto asked = acquire();
    asked.spare_fences = 4;
    auto m = of(3, asked);
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    EXPECT_THAT(raised(m.on_answer(1, granted(9), soon)), ElementsAre(Pair(0, 13)));
}

TEST_F(quorum_of, a_node_that_lost_the_lease_before_it_was_raised_has_no_vote) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(2, away(), soon));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    EXPECT_FALSE(m.on_answer(1, granted(9), soon).outcome);
    const auto end = m.on_answer(0, lost(), soon);
    EXPECT_TRUE(says<answer::busy>(end) || !*end.outcome);
    EXPECT_THAT(undone(end), ElementsAre(Pair(1, 9)));
}

// Found by the simulation, seed 118113: a node without memory granted, and could not be raised.
TEST_F(quorum_of, a_node_that_could_not_be_raised_has_no_vote_and_is_undone) {
    auto m = five(acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, busy(), soon));
    static_cast<void>(m.on_answer(2, away(), soon));
    static_cast<void>(m.on_answer(3, granted(4), soon));
    EXPECT_THAT(raised(m.on_answer(4, granted(9), soon)), ElementsAre(Pair(0, 9), Pair(3, 9)));
    static_cast<void>(m.on_answer(3, renewed(), soon));
    const auto last = m.on_answer(0, fail(errc::unavailable, "no memory"), soon);
    ASSERT_TRUE(last.outcome);
    EXPECT_FALSE(says<answer::granted>(last));
    EXPECT_THAT(undone(last), ElementsAre(Pair(0, 9), Pair(3, 9), Pair(4, 9)));
}

TEST_F(quorum_of, those_whose_clocks_are_far_behind_a_fence_choose_among_themselves) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(900), soon));
    EXPECT_THAT(raised(m.on_answer(1, granted(3), soon)), ElementsAre(Pair(1, 900)));
    EXPECT_FALSE(m.on_answer(1, renewed_only(), soon).outcome) << "the third may take it";
    EXPECT_THAT(raised(m.on_answer(2, granted(5), soon)), ElementsAre(Pair(2, 900)));
    const auto refused = m.on_answer(2, renewed_only(), soon);
    EXPECT_FALSE(refused.outcome);
    EXPECT_THAT(raised(refused), ElementsAre(Pair(1, 5))) << "two of three, without the first";
    EXPECT_TRUE(is_granted(m.on_answer(1, renewed(), soon), 5));
}

TEST_F(quorum_of, one_whose_clock_is_far_behind_is_outvoted) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(900), soon));
    static_cast<void>(m.on_answer(1, granted(3), soon));
    EXPECT_FALSE(m.on_answer(1, renewed_only(), soon).outcome);
    EXPECT_TRUE(is_granted(m.on_answer(2, granted(900), soon), 900));
}

TEST_F(quorum_of, two_whose_clocks_are_far_apart_are_no_majority_and_say_why) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(2, away(), soon));
    static_cast<void>(m.on_answer(0, granted(900), soon));
    static_cast<void>(m.on_answer(1, granted(3), soon));
    const auto end = m.on_answer(1, renewed_only(), soon);
    ASSERT_TRUE(end.outcome && !*end.outcome);
    EXPECT_EQ(end.outcome->error(), errc::unavailable);
    EXPECT_THAT(undone(end), ElementsAre(Pair(0, 900), Pair(1, 900)));
    EXPECT_NE(m.words()[1].why->detail.find("clock"), std::string::npos);
}

TEST_F(quorum_of, a_renewal_counts_although_the_fence_is_far_ahead_of_a_clock) {
    auto m = of(3, ask::renew{name, owner, {}, ttl, {900}});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, renewed(), soon));
    EXPECT_TRUE(says<answer::renewed>(m.on_answer(1, renewed_only(), soon)));
}

TEST_F(quorum_of, without_fences_needs_no_raise) {
    quorum_machine m({.request = acquire(), .nodes = 3, .fencing = false});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    EXPECT_TRUE(is_granted(m.on_answer(1, granted(9), soon), 0));
}

TEST_F(quorum_of, a_vote_whose_end_is_on_its_way_is_no_vote) {
    quorum_machine m(
        {.request = acquire(ask::when_busy::join_queue), .nodes = 3, .undone = {{5}, {}, {}}});
    static_cast<void>(m.start(vote_start));
    const auto old = m.on_answer(0, granted(5), soon);
    EXPECT_THAT(undone(old), ElementsAre(Pair(0, 5)));
    static_cast<void>(m.on_answer(1, granted(6), soon));
    EXPECT_TRUE(says<answer::busy>(m.on_answer(2, busy(), soon)));
}

TEST_F(quorum_of, a_new_vote_of_a_node_where_an_older_one_was_undone_counts) {
    quorum_machine m({.request = acquire(), .nodes = 3, .undone = {{5}, {}, {}}});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(6), soon));
    EXPECT_TRUE(is_granted(m.on_answer(1, granted(6), soon), 6));
}

TEST_F(quorum_of, a_node_where_the_owner_is_being_ended_is_not_asked) {
    quorum_machine m({.request = acquire(), .nodes = 3, .leaving = {true, false, false}});
    EXPECT_EQ(m.start(vote_start).sends.size(), 2U);
}

TEST_F(quorum_of, votes_that_come_when_the_lease_may_be_over_do_not_count) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    const time_point late = valid_until(vote_start, ttl);
    const auto second = m.on_answer(1, granted(3), late);
    EXPECT_FALSE(second.outcome);
    EXPECT_THAT(undone(second), ElementsAre(Pair(1, 3)));
    const auto third = m.on_answer(2, granted(3), late);
    ASSERT_TRUE(third.outcome);
    EXPECT_EQ(third.outcome->error(), errc::unavailable);
}

TEST_F(quorum_of, a_no_that_comes_late_is_an_answer_all_the_same) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, busy(), vote_start + 2 * ttl));
    EXPECT_TRUE(says<answer::busy>(m.on_answer(1, busy(), vote_start + 2 * ttl)));
}

TEST_F(quorum_of, a_vote_that_comes_when_its_owner_was_given_back_is_undone) {
    for (const auto otherwise : {ask::when_busy::refuse, ask::when_busy::join_queue}) {
        auto won = of(3, acquire(otherwise));
        static_cast<void>(won.start(vote_start));
        static_cast<void>(won.on_answer(0, granted(3), soon));
        static_cast<void>(won.on_answer(1, granted(3), soon));
        won.end();
        EXPECT_THAT(undone(won.on_answer(2, granted(4), soon)), ElementsAre(Pair(2, 4)));
        auto refused = of(3, acquire(otherwise));
        static_cast<void>(refused.start(vote_start));
        static_cast<void>(refused.on_answer(0, busy(), soon));
        static_cast<void>(refused.on_answer(1, busy(), soon));
        refused.end();
        EXPECT_THAT(undone(refused.on_answer(2, granted(4), soon)), ElementsAre(Pair(2, 4)));
        EXPECT_FALSE(refused.words()[2].said == node_word::kind::yes);
    }
}

TEST_F(quorum_of, a_place_in_line_that_comes_when_its_owner_was_given_back_is_left) {
    auto m = of(3, acquire(ask::when_busy::join_queue));
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, granted(3), soon));
    m.end();
    const auto late = m.on_answer(2, busy(), soon);
    ASSERT_EQ(late.sends.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<ask::leave>(late.sends[0].request));
}

TEST_F(quorum_of, renewals_that_come_when_the_lease_may_be_over_do_not_count) {
    auto m = of(3, ask::renew{name, owner, {}, ttl, {9}});
    static_cast<void>(m.start(vote_start));
    const time_point late = valid_until(vote_start, ttl);
    static_cast<void>(m.on_answer(0, renewed(), late));
    static_cast<void>(m.on_answer(1, renewed(), late));
    const auto end = m.on_answer(2, renewed(), late);
    ASSERT_TRUE(end.outcome);
    EXPECT_FALSE(*end.outcome);
}

TEST_F(quorum_of, renewal_takes_a_majority_and_gives_back_what_a_minority_lost) {
    auto m = five(ask::renew{name, owner, {}, ttl, {9}});
    EXPECT_EQ(std::get<ask::renew>(m.start(vote_start).sends[0].request).floor.value, 9U);
    static_cast<void>(m.on_answer(0, lost(), soon));
    static_cast<void>(m.on_answer(1, renewed(), soon));
    static_cast<void>(m.on_answer(2, renewed(), soon));
    const auto end = m.on_answer(3, renewed(), soon);
    EXPECT_TRUE(says<answer::renewed>(end));
    ASSERT_EQ(end.sends.size(), 1U);
    EXPECT_EQ(end.sends[0].node, 0U);
    const auto& restored = std::get<ask::acquire>(end.sends[0].request);
    EXPECT_EQ(restored.owner, owner);
    EXPECT_TRUE(restored.again) << "the node has known it";
    EXPECT_THAT(m.on_answer(4, lost("broken by ops"), soon).sends, IsEmpty())
        << "what an operator took away stays away";
}

TEST_F(quorum_of, renewal_is_lost_when_a_majority_cannot_be_reached_any_more) {
    auto m = five(ask::renew{name, owner, {}, ttl, {9}});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, lost(), soon));
    static_cast<void>(m.on_answer(1, renewed(), soon));
    static_cast<void>(m.on_answer(2, lost("maintenance"), soon));
    const auto end = m.on_answer(3, lost(), soon);
    ASSERT_TRUE(says<answer::lost>(end));
    EXPECT_EQ(std::get<answer::lost>(**end.outcome).reason, "maintenance");
}

TEST_F(quorum_of, renewal_that_too_few_answer_has_failed_and_is_not_lost) {
    auto m = of(3, ask::renew{name, owner, {}, ttl, {9}});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, renewed(), soon));
    static_cast<void>(m.on_answer(1, silent(), soon));
    EXPECT_EQ(m.on_answer(2, lost(), soon).outcome->error(), errc::outcome_unknown);
}

TEST_F(quorum_of, a_renewal_of_a_grant_that_is_being_undone_does_not_count) {
    quorum_machine m(
        {.request = ask::renew{name, owner, {}, ttl, {9}}, .nodes = 3, .undone = {{5}, {}, {}}});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, renewed(), soon));
    static_cast<void>(m.on_answer(1, renewed(), soon));
    EXPECT_FALSE(*m.on_answer(2, away(), soon).outcome);
}

TEST_F(quorum_of, release_is_answered_by_a_majority_and_goes_on_at_the_silent) {
    auto m = five(ask::release{name, owner, {}});
    static_cast<void>(m.start(vote_start));
    EXPECT_THAT(m.on_answer(0, silent(), soon).leave_at, ElementsAre(0));
    static_cast<void>(m.on_answer(1, released(), soon));
    static_cast<void>(m.on_answer(2, released(), soon));
    EXPECT_TRUE(says<answer::released>(m.on_answer(3, released(), soon)));
    EXPECT_THAT(m.on_answer(4, away(), soon).leave_at, ElementsAre(4));
}

TEST_F(quorum_of, release_also_leaves_the_lines_of_nodes_that_had_not_granted_it) {
    auto m = of(3, ask::release{name, owner, {}});
    static_cast<void>(m.start(vote_start));
    const auto first = m.on_answer(0, lost(), soon);
    ASSERT_EQ(first.sends.size(), 1U);
    EXPECT_TRUE(std::holds_alternative<ask::leave>(first.sends[0].request));
    EXPECT_TRUE(first.sends[0].insists);
}

TEST_F(quorum_of, release_of_what_a_majority_does_not_know_is_lost) {
    auto m = of(3, ask::release{name, owner, {}});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, released(), soon));
    static_cast<void>(m.on_answer(1, lost(), soon));
    EXPECT_TRUE(says<answer::lost>(m.on_answer(2, lost(), soon)));
}

TEST_F(quorum_of, leave_finds_what_any_node_had) {
    auto m = of(3, ask::leave{name, owner, {}});
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, released(true), soon));
    const auto end = m.on_answer(1, released(false), soon);
    ASSERT_TRUE(says<answer::released>(end));
    EXPECT_TRUE(std::get<answer::released>(**end.outcome).found);
}

TEST_F(quorum_of, says_what_each_node_said_without_the_owner) {
    auto m = five(acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, busy(), soon));
    static_cast<void>(m.on_answer(2, silent(), soon));
    static_cast<void>(m.on_answer(3, away(), soon));
    const std::vector<std::string> labels{"a:1", "b:2", "c:3", "d:4", "e:5"};
    EXPECT_EQ(report_of(m, labels, 500ms),
              "1 of 5 granted: a:1 granted, b:2 busy, c:3 no answer in 500 ms, d:4 unavailable, "
              "e:5 not heard yet; d:4: not connected");
}

}  // namespace
}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
//
// What a quorum does when it refuses, or too few of it answer: nothing may stay with the nodes.
#include "quorum_of.hpp"

#include "core/validity.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace holdfast::detail {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST_F(quorum_of, busy_is_told_as_soon_as_a_majority_is_out_of_reach_and_votes_are_undone) {
    auto m = five(acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, busy(), soon));
    static_cast<void>(m.on_answer(2, busy(), soon));
    const auto end = m.on_answer(3, busy(), soon);
    ASSERT_TRUE(end.outcome);
    EXPECT_THAT(undone(end), ElementsAre(Pair(0, 3)));
    EXPECT_TRUE(m.split());
    EXPECT_THAT(undone(m.on_answer(4, granted(8), soon)), ElementsAre(Pair(4, 8)))
        << "a vote that comes too late to matter is undone too";
}

TEST_F(quorum_of, a_vote_for_a_refused_waiter_is_undone_however_late_it_comes) {
    auto m = five(acquire(ask::when_busy::join_queue));
    static_cast<void>(m.start(vote_start));
    for (std::size_t node : {0U, 1U}) static_cast<void>(m.on_answer(node, busy(), soon));
    ASSERT_TRUE(says<answer::busy>(m.on_answer(2, busy(), soon)));
    const step late = m.on_answer(3, granted(70), soon);
    EXPECT_THAT(undone(late), ElementsAre(Pair(3, 70)));
    EXPECT_FALSE(late.sends.at(0).insists) << "it asks again, or leaves";
    const step no = m.on_answer(4, busy(), soon);
    EXPECT_TRUE(no.sends.empty() && no.leave_at.empty()) << "it stays in that line";
}

TEST_F(quorum_of, a_waiter_that_most_have_no_room_for_leaves_the_lines_of_the_others) {
    auto m = five(acquire(ask::when_busy::join_queue));
    static_cast<void>(m.start(vote_start));
    const auto full = [] { return result<lease_reply>(fail(errc::busy, "the queue is full")); };
    for (std::size_t node : {0U, 1U}) static_cast<void>(m.on_answer(node, full(), soon));
    const step said = m.on_answer(2, full(), soon);
    ASSERT_TRUE(said.outcome && !*said.outcome);
    EXPECT_EQ(said.outcome->error(), errc::busy);
    EXPECT_THAT(m.on_answer(3, busy(), soon).leave_at, ElementsAre(3));
    const step late = m.on_answer(4, granted(70), soon);
    EXPECT_THAT(undone(late), ElementsAre(Pair(4, 70)));
    EXPECT_TRUE(late.sends.at(0).insists) << "it will not ask again";
}

TEST_F(quorum_of, even_numbers_settle_a_tie_as_nobodys) {
    auto m = of(4, acquire(ask::when_busy::join_queue));
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, granted(4), soon));
    static_cast<void>(m.on_answer(2, busy(), soon));
    const auto end = m.on_answer(3, busy(), soon);
    EXPECT_TRUE(says<answer::busy>(end));
    EXPECT_THAT(undone(end), ElementsAre(Pair(0, 3), Pair(1, 4)));
}

TEST_F(quorum_of, too_few_answers_are_unknown_if_any_may_have_been_carried_out) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, silent(), soon));
    const auto end = m.on_answer(2, silent(), soon);
    ASSERT_TRUE(end.outcome);
    EXPECT_EQ(end.outcome->error(), errc::outcome_unknown);
    EXPECT_THAT(undone(end), IsEmpty()) << "whoever asked asks again, or leaves";
}

TEST_F(quorum_of, too_few_nodes_that_can_be_reached_are_unavailable_and_nothing_stays) {
    auto m = of(3, acquire());
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, granted(3), soon));
    static_cast<void>(m.on_answer(1, away(), soon));
    const auto end = m.on_answer(2, away(), soon);
    EXPECT_EQ(end.outcome->error(), errc::unavailable);
    EXPECT_THAT(undone(end), ElementsAre(Pair(0, 3)));
}

TEST_F(quorum_of, a_waiter_in_the_line_of_a_minority_is_told_that_something_may_be_there) {
    auto m = of(3, acquire(ask::when_busy::join_queue));
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, busy(), soon));
    static_cast<void>(m.on_answer(1, away(), soon));
    EXPECT_EQ(m.on_answer(2, away(), soon).outcome->error(), errc::outcome_unknown);
    auto voted = of(3, acquire(ask::when_busy::join_queue));
    static_cast<void>(voted.start(vote_start));
    static_cast<void>(voted.on_answer(0, granted(3), soon));
    static_cast<void>(voted.on_answer(1, away(), soon));
    EXPECT_EQ(voted.on_answer(2, away(), soon).outcome->error(), errc::outcome_unknown)
        << "the undoing may fail";
    auto late = of(3, acquire(ask::when_busy::join_queue));
    static_cast<void>(late.start(vote_start));
    static_cast<void>(late.on_answer(0, granted(3), valid_until(vote_start, ttl)));
    static_cast<void>(late.on_answer(1, away(), soon));
    EXPECT_EQ(late.on_answer(2, away(), soon).outcome->error(), errc::outcome_unknown)
        << "the undoing of one that came too late may fail as well";
    auto refused = of(3, acquire());
    static_cast<void>(refused.start(vote_start));
    static_cast<void>(refused.on_answer(0, busy(), soon));
    static_cast<void>(refused.on_answer(1, away(), soon));
    EXPECT_EQ(refused.on_answer(2, away(), soon).outcome->error(), errc::unavailable);
}

TEST_F(quorum_of, what_ends_an_owner_for_good_is_insisted_on) {
    auto refused = of(3, acquire());
    static_cast<void>(refused.start(vote_start));
    static_cast<void>(refused.on_answer(0, granted(3), soon));
    static_cast<void>(refused.on_answer(1, busy(), soon));
    const auto end = refused.on_answer(2, busy(), soon);
    ASSERT_EQ(end.sends.size(), 1U);
    EXPECT_TRUE(end.sends[0].insists);
    auto waits = of(3, acquire(ask::when_busy::join_queue));
    static_cast<void>(waits.start(vote_start));
    static_cast<void>(waits.on_answer(0, granted(3), soon));
    static_cast<void>(waits.on_answer(1, busy(), soon));
    const auto later = waits.on_answer(2, busy(), soon);
    ASSERT_EQ(later.sends.size(), 1U);
    EXPECT_FALSE(later.sends[0].insists) << "it will ask again";
}

TEST_F(quorum_of, a_silent_node_of_a_refused_acquire_is_left_in_the_background) {
    auto m = five(acquire());
    static_cast<void>(m.start(vote_start));
    for (std::size_t i = 0; i < 3; ++i) static_cast<void>(m.on_answer(i, busy(), soon));
    EXPECT_THAT(m.on_answer(3, silent(), soon).leave_at, ElementsAre(3));
    EXPECT_THAT(m.on_answer(4, away(), soon).leave_at, IsEmpty()) << "it was never sent";
}

TEST_F(quorum_of, a_waiter_looks_when_enough_nodes_may_be_free) {
    auto m = five(acquire(ask::when_busy::join_queue));
    static_cast<void>(m.start(vote_start));
    static_cast<void>(m.on_answer(0, busy(900ms), soon));
    static_cast<void>(m.on_answer(1, busy(100ms), soon));
    const auto end = m.on_answer(2, busy(300ms), soon);
    ASSERT_TRUE(says<answer::busy>(end));
    EXPECT_EQ(std::get<answer::busy>(**end.outcome).poll_after, 900ms);
}

}  // namespace
}  // namespace holdfast::detail

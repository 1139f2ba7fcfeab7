// SPDX-License-Identifier: Apache-2.0
#include "core/acquire_machine.hpp"
#include "core/validity.hpp"

#include <gtest/gtest.h>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;
constexpr time_point t0{1h};
constexpr duration ttl = 30s;

struct machine_test : testing::Test {
    acquire_machine trying() { return with(time_point::min()); }
    acquire_machine waiting(duration wait) { return with(t0 + wait); }
    acquire_machine with(time_point until) {
        return acquire_machine({.name = *lock_name::make("job"),
                                .owner = owner,
                                .mode = {},
                                .ttl = ttl,
                                .wait_until = until,
                                .request_timeout = 3s});
    }

    static lease_reply granted(std::uint64_t fence) { return answer::granted{{fence}, ttl}; }
    static lease_reply busy(std::uint64_t latest, duration look = 1s) {
        return answer::busy{look, 0, {77}, {latest}};
    }
    handed_off push(std::uint64_t fence) const { return {owner, {fence}, 2s}; }

    template <class Request>
    static const Request& sent(const acquire_machine::action& a) {
        return std::get<Request>(std::get<acquire_machine::send>(a).request);
    }
    static const result<grant>& outcome(const acquire_machine::action& a) {
        return std::get<acquire_machine::finish>(a).outcome;
    }
    static bool leftover(const acquire_machine::action& a) {
        return std::get<acquire_machine::finish>(a).leftover;
    }
    static time_point sleeps(const acquire_machine::action& a) {
        return std::get<acquire_machine::sleep>(a).until;
    }

    seeded_entropy chance{3};
    owner_token owner = owner_token::draw(chance);
};

TEST_F(machine_test, a_grant_is_believed_from_before_it_was_asked_for) {
    auto m = trying();
    static_cast<void>(m.start(t0));
    const auto end = m.on_reply(granted(5), t0 + 200ms);
    ASSERT_TRUE(outcome(end));
    EXPECT_EQ(outcome(end)->valid_until, valid_until(t0, ttl));
    EXPECT_EQ(outcome(end)->renew_at, t0 + 10s);
    EXPECT_EQ(outcome(end)->fence, fencing_token{5});
}

TEST_F(machine_test, a_waiter_whose_grant_arrives_after_its_own_end_asks_again) {
    auto m = waiting(5min);
    static_cast<void>(m.start(t0));
    const auto again = m.on_reply(granted(5), t0 + ttl);
    EXPECT_EQ(sent<ask::acquire>(again).owner, owner);
    const auto end = m.on_reply(granted(5), t0 + ttl + 1s);
    ASSERT_TRUE(outcome(end));
    EXPECT_EQ(outcome(end)->valid_until, valid_until(t0 + ttl, ttl));
}

TEST_F(machine_test, a_grant_that_arrives_after_its_own_end_is_given_back) {
    auto m = trying();
    static_cast<void>(m.start(t0));
    auto next = m.on_reply(granted(5), t0 + 31s);
    EXPECT_EQ(sent<ask::leave>(next).owner, owner);
    next = m.on_reply(lease_reply(answer::released{}), t0 + 31s);
    EXPECT_EQ(outcome(next).error(), errc::unavailable);
    EXPECT_FALSE(leftover(next));
}

TEST_F(machine_test, a_waiter_whose_last_request_got_no_time_has_timed_out) {
    auto m = waiting(200ms);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(4, 199ms), t0));
    static_cast<void>(m.on_wake(t0 + 199ms));
    const error none{errc::unavailable, "no time was left"};
    EXPECT_EQ(sleeps(m.on_reply(std::unexpected(none), t0 + 199ms)), t0 + 200ms);
    static_cast<void>(m.on_wake(t0 + 200ms));  // leaves the line
    EXPECT_EQ(outcome(m.on_reply(lease_reply(answer::released{}), t0 + 201ms)).error(),
              errc::timed_out);
}

TEST_F(machine_test, one_whose_turn_came_with_no_time_left_has_timed_out) {
    acquire_plan plan = waiting(200ms).plan();
    plan.waited = true;
    acquire_machine m(plan);
    static_cast<void>(m.start(t0 + 200ms));
    const error none{errc::unavailable, "no time was left"};
    EXPECT_EQ(outcome(m.on_reply(std::unexpected(none), t0 + 200ms)).error(), errc::timed_out);
}

TEST_F(machine_test, an_engine_that_went_away_during_the_wait_is_unavailable) {
    auto m = waiting(10s);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(4, 1s), t0));
    static_cast<void>(m.on_wake(t0 + 1s));
    const error away{errc::unavailable, "Connection refused"};
    static_cast<void>(m.on_reply(std::unexpected(away), t0 + 1s));
    static_cast<void>(m.on_wake(t0 + 10s));
    EXPECT_EQ(outcome(m.on_reply(lease_reply(answer::released{}), t0 + 10s)).error(),
              errc::unavailable);
}

TEST_F(machine_test, who_does_not_wait_is_refused_in_one_trip) {
    auto m = trying();
    const auto first = m.start(t0);
    EXPECT_EQ(sent<ask::acquire>(first).otherwise, ask::when_busy::refuse);
    EXPECT_EQ(outcome(m.on_reply(busy(4), t0)).error(), errc::busy);
}

TEST_F(machine_test, a_waiter_looks_again_with_the_same_owner_and_its_ticket) {
    auto m = waiting(10s);
    EXPECT_EQ(sent<ask::acquire>(m.start(t0)).otherwise, ask::when_busy::join_queue);
    EXPECT_EQ(sleeps(m.on_reply(busy(4, 400ms), t0 + 1ms)), t0 + 401ms);
    const auto look = m.on_wake(t0 + 401ms);
    EXPECT_EQ(sent<ask::acquire>(look).owner, owner);
    EXPECT_EQ(sent<ask::acquire>(look).ticket, queue_ticket{77});
}

TEST_F(machine_test, no_look_is_further_away_than_a_second) {
    auto m = waiting(100s);
    static_cast<void>(m.start(t0));
    EXPECT_EQ(sleeps(m.on_reply(busy(4, 29s), t0)), t0 + 1s);
}

TEST_F(machine_test, a_handoff_is_owned_without_another_trip) {
    auto m = waiting(10s);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(4), t0 + 1ms));
    const auto end = m.on_handoff(push(5), t0 + 300ms);
    ASSERT_TRUE(outcome(end));
    EXPECT_EQ(outcome(end)->valid_until, valid_until(t0, 2s)) << "from the last look on";
    EXPECT_TRUE(outcome(end)->handed_off);
}

TEST_F(machine_test, a_handoff_with_little_left_is_confirmed_first) {
    auto m = waiting(10s);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(4), t0 + 1ms));
    EXPECT_EQ(sent<ask::acquire>(m.on_handoff(push(5), t0 + 1600ms)).owner, owner);
}

TEST_F(machine_test, a_handoff_older_than_the_last_look_means_nothing) {
    auto m = waiting(10s);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(4), t0));
    static_cast<void>(m.on_wake(t0 + 1s));
    static_cast<void>(m.on_reply(busy(9), t0 + 1s));  // someone has held it since
    EXPECT_EQ(sleeps(m.on_handoff(push(5), t0 + 1100ms)), t0 + 2s);
}

TEST_F(machine_test, a_handoff_from_another_programs_lock_is_confirmed_first) {
    auto m = waiting(10s);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(0), t0));
    EXPECT_EQ(sent<ask::acquire>(m.on_handoff(push(5), t0 + 10ms)).owner, owner);
}

TEST_F(machine_test, who_runs_out_of_time_leaves_the_line) {
    auto m = waiting(500ms);
    static_cast<void>(m.start(t0));
    EXPECT_EQ(sleeps(m.on_reply(busy(4), t0)), t0 + 500ms);
    auto next = m.on_wake(t0 + 500ms);
    EXPECT_EQ(sent<ask::leave>(next).owner, owner);
    next = m.on_reply(lease_reply(answer::released{}), t0 + 501ms);
    EXPECT_EQ(outcome(next).error(), errc::timed_out);
    EXPECT_FALSE(leftover(next));
}

TEST_F(machine_test, who_is_cancelled_leaves_the_line_and_if_it_cannot_says_so) {
    auto m = waiting(10s);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(4), t0));
    auto next = m.on_cancel(t0 + 1ms);
    EXPECT_EQ(sent<ask::leave>(next).owner, owner);
    next = m.on_reply(fail(errc::unavailable, ""), t0 + 2ms);
    EXPECT_EQ(outcome(next).error(), errc::cancelled);
    EXPECT_TRUE(leftover(next));
}

TEST_F(machine_test, a_lost_answer_is_asked_for_again_with_the_same_owner) {
    auto m = trying();
    static_cast<void>(m.start(t0));
    const auto again = m.on_reply(fail(errc::outcome_unknown, ""), t0 + 1s);
    EXPECT_EQ(sent<ask::acquire>(again).owner, owner);
    const auto end = m.on_reply(granted(5), t0 + 1100ms);
    ASSERT_TRUE(outcome(end));
    EXPECT_EQ(outcome(end)->valid_until, valid_until(t0 + 1s, ttl));
}

TEST_F(machine_test, what_stays_unknown_is_undone_or_said_to_be_unknown) {
    for (const bool undone : {true, false}) {
        auto m = trying();
        static_cast<void>(m.start(t0));
        static_cast<void>(m.on_reply(fail(errc::outcome_unknown, ""), t0 + 1s));
        auto next = m.on_reply(fail(errc::outcome_unknown, ""), t0 + 2s);
        EXPECT_EQ(sent<ask::leave>(next).owner, owner);
        next = undone ? m.on_reply(lease_reply(answer::released{}), t0 + 2s)
                      : m.on_reply(fail(errc::outcome_unknown, ""), t0 + 2s);
        EXPECT_EQ(outcome(next).error(), undone ? errc::unavailable : errc::outcome_unknown);
        EXPECT_TRUE(leftover(next)) << "the other of the two requests may still come";
    }
}

TEST_F(machine_test, a_waiter_whose_last_look_outlived_its_time_has_timed_out) {
    auto m = waiting(1500ms);
    static_cast<void>(m.start(t0));
    static_cast<void>(m.on_reply(busy(4), t0));
    static_cast<void>(m.on_wake(t0 + 1s));
    auto next = m.on_reply(fail(errc::outcome_unknown, "no answer in time"), t0 + 1500ms);
    EXPECT_EQ(sent<ask::leave>(next).owner, owner);
    next = m.on_reply(lease_reply(answer::released{}), t0 + 1501ms);
    EXPECT_EQ(outcome(next).error(), errc::timed_out);
}

TEST_F(machine_test, an_engine_that_cannot_be_reached_is_not_left) {
    auto m = trying();
    static_cast<void>(m.start(t0));
    const auto end = m.on_reply(fail(errc::unavailable, "no route"), t0);
    EXPECT_EQ(outcome(end).error(), errc::unavailable);
    EXPECT_FALSE(leftover(end));
}

TEST_F(machine_test, a_waiter_outlasts_an_engine_in_trouble_with_growing_pauses) {
    auto m = waiting(10s);
    auto next = m.start(t0);
    time_point now = t0;
    duration pause{};
    for (int i = 0; i < 20; ++i) {
        next = m.on_reply(fail(errc::unavailable, "no route"), now);
        const time_point wake = sleeps(next);
        EXPECT_GE(wake - now, std::min<duration>(pause, 250ms) / 2);
        EXPECT_LE(wake - now, 500ms);
        pause = wake - now;
        now = wake;
        next = m.on_wake(now);
        ASSERT_TRUE(std::holds_alternative<acquire_machine::send>(next));
    }
    EXPECT_TRUE(outcome(m.on_reply(granted(8), now)));
}

TEST_F(machine_test, an_answer_that_asking_again_cannot_change_ends_it) {
    for (const errc code : {errc::denied, errc::unsupported, errc::corrupt}) {
        auto m = waiting(10s);
        static_cast<void>(m.start(t0));
        EXPECT_EQ(outcome(m.on_reply(fail(code, ""), t0)).error(), code);
    }
}

TEST_F(machine_test, no_request_may_take_longer_than_the_caller_waits) {
    auto m = waiting(100ms);
    EXPECT_EQ(std::get<acquire_machine::send>(m.start(t0)).give_up, t0 + 100ms);
}

}  // namespace
}  // namespace holdfast::detail

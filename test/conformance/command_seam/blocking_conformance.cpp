// SPDX-License-Identifier: Apache-2.0
//
// Commands that wait on the server.
#include "conformance/command_seam/command_seam.hpp"
#include "support/wait_for.hpp"

#include <atomic>
#include <chrono>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST_P(command_seam, a_blocking_pop_wakes_when_another_pushes) {
    for (int round = 0; round < 50; ++round) {
        const std::string list = key(std::to_string(round));
        const auto waiter = session();
        reply popped;
        std::jthread thread([&] { popped = ask_in(*waiter, soon(), "BLPOP", list, 10); });
        EXPECT_EQ(ask("RPUSH", list, "x").number(), 1);
        thread.join();
        ASSERT_EQ(popped, reply::array({reply::string(list), reply::string("x")}));
        ASSERT_EQ(ask("EXISTS", list), reply::integer(0));
    }
}

TEST_P(command_seam, a_blocking_pop_that_gets_nothing_answers_nil_after_its_time) {
    const auto waiter = session();
    const auto start = engine_->time().now();
    EXPECT_TRUE(ask_in(*waiter, soon(), "BLPOP", key("empty"), "0.1").is_nil());
    const auto took = engine_->time().now() - start;
    EXPECT_GE(took, 100ms);
    EXPECT_LT(took, 30s);
    EXPECT_EQ(ask_in(*waiter, soon(), "PING"), reply::status("PONG"));
}

TEST_P(command_seam, a_blocking_pop_of_what_is_there_does_not_wait) {
    const auto waiter = session();
    ask("RPUSH", key("list"), "a", "b");
    EXPECT_EQ(ask_in(*waiter, soon(), "BRPOP", key("empty"), key("list"), 0),
              reply::array({reply::string(key("list")), reply::string("b")}));
}

TEST_P(command_seam, a_blocking_pop_gives_up_when_its_caller_does) {
    const auto waiter = session();
    const auto start = engine_->time().now();
    const auto answer =
        waiter->execute(words("BLPOP", key("empty"), 0), engine_->time().now() + 150ms);
    EXPECT_LT(engine_->time().now() - start, 30s);
    ASSERT_FALSE(answer);
    EXPECT_TRUE(answer.error() == errc::timed_out || answer.error() == errc::outcome_unknown)
        << to_string(answer.error());
}

TEST_P(command_seam, a_waiter_that_gave_up_takes_nothing_afterwards) {
    {
        const auto waiter = session();
        (void)waiter->execute(words("BLPOP", key("list"), 0), engine_->time().now() + 50ms);
    }
    // Ending a connection is asynchronous: the server may notice after the push. So push until one
    // stays; what a dead waiter still takes is one element at most.
    int pushes = 0;
    wait_for("a push that stays", [&] {
        ++pushes;
        return ask("RPUSH", key("list"), "x").number() >= 1 &&
               ask("LLEN", key("list")).number() > 0;
    });
    EXPECT_LE(pushes, 2);
}

TEST_P(command_seam, a_blocked_session_does_not_hold_up_the_engine) {
    const auto waiter = session();
    std::jthread thread([&] { (void)ask_in(*waiter, soon(), "BLPOP", key("list"), 10); });
    for (int i = 0; i < 100; ++i) EXPECT_EQ(ask("PING"), reply::status("PONG"));
    ask("RPUSH", key("list"), "x");
}

TEST_P(command_seam, one_element_wakes_one_of_two_waiters) {
    const auto first = session();
    const auto second = session();
    std::atomic<int> served = 0;
    const auto wait_in = [&](command_session& in) {
        if (!ask_in(in, soon(), "BLPOP", key("list"), 10).is_nil()) ++served;
    };
    std::jthread one([&] { wait_in(*first); });
    std::jthread two([&] { wait_in(*second); });
    ask("RPUSH", key("list"), "x");
    wait_for("one waiter to be served", [&] { return served == 1; });
    EXPECT_EQ(ask("LLEN", key("list")), reply::integer(0));
    ask("RPUSH", key("list"), "y");
    wait_for("the other waiter to be served", [&] { return served == 2; });
}

TEST_P(command_seam, an_expired_key_is_gone) {
    ask("SET", key("k"), "v", "PX", 50);
    EXPECT_LE(ask("PTTL", key("k")).number(), 50);
    wait_for("the key's end", [&] { return ask("GET", key("k")).is_nil(); });
    EXPECT_EQ(ask("PTTL", key("k")), reply::integer(-2));
    EXPECT_EQ(ask("SET", key("k"), "w", "NX"), reply::status("OK"));
}

}  // namespace
}  // namespace holdfast::test

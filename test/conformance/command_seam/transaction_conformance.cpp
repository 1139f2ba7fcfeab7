// SPDX-License-Identifier: Apache-2.0
//
// Transactions, and sessions with WATCH.
#include "conformance/command_seam/command_seam.hpp"

#include <array>
#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

TEST_P(command_seam, a_transaction_answers_the_replies_of_its_commands_in_order) {
    const auto set = words("SET", key("n"), 1);
    const auto incr = words("INCR", key("n"));
    const auto get = words("GET", key("n"));
    const std::array<command, 3> commands{set, incr, get};
    const auto answer = engine_->transaction(commands, soon());
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(*answer, reply::array({reply::status("OK"), reply::integer(2), reply::string("2")}));
}

TEST_P(command_seam, a_transaction_with_a_command_that_is_refused_does_nothing) {
    const auto set = words("SET", key("k"), "v");
    const auto broken = words("GET");
    const std::array<command, 2> commands{set, broken};
    const auto answer = engine_->transaction(commands, soon());
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_TRUE(answer->text().starts_with("EXECABORT")) << to_string(*answer);
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
}

TEST_P(command_seam, a_command_that_fails_inside_a_transaction_does_not_stop_the_others) {
    const auto set = words("SET", key("k"), "text");
    const auto push = words("LPUSH", key("k"), "x");
    const auto incr = words("INCR", key("n"));
    const std::array<command, 3> commands{set, push, incr};
    const auto answer = engine_->transaction(commands, soon());
    ASSERT_TRUE(answer) << to_string(answer.error());
    ASSERT_EQ(answer->elements().size(), 3U);
    EXPECT_TRUE(answer->elements()[1].text().starts_with("WRONGTYPE"));
    EXPECT_EQ(answer->elements()[2], reply::integer(1));
}

TEST_P(command_seam, nobody_sees_half_of_a_transaction) {
    const std::string a = key("a");
    const std::string b = key("b");
    std::atomic<bool> stop = false;
    std::atomic<int> failures = 0;
    std::jthread writer([&] {
        const auto first = words("INCR", a);
        const auto second = words("INCR", b);
        const std::array<command, 2> commands{first, second};
        while (!stop) {
            if (!engine_->transaction(commands, soon())) ++failures;
        }
    });
    for (int i = 0; i < 500; ++i) {
        const reply both = ask("MGET", a, b);
        ASSERT_EQ(both.elements().size(), 2U);
        EXPECT_EQ(both.elements()[0], both.elements()[1]);
    }
    stop = true;
    writer.join();
    EXPECT_EQ(failures, 0);
}

TEST_P(command_seam, a_transaction_whose_time_is_over_does_nothing) {
    const auto set = words("SET", key("k"), "v");
    const std::array<command, 1> commands{set};
    const auto answer = engine_->transaction(commands, past());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), errc::timed_out) << to_string(answer.error());
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
}

TEST_P(command_seam, an_empty_transaction_answers_an_empty_array) {
    const auto answer = engine_->transaction({}, soon());
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(*answer, reply::array({}));
}

TEST_P(command_seam, exec_answers_nil_when_a_watched_key_was_changed_by_another) {
    const auto mine = session();
    EXPECT_EQ(ask_in(*mine, soon(), "WATCH", key("k")), reply::status("OK"));
    EXPECT_EQ(ask("SET", key("k"), "theirs"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "MULTI"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "SET", key("k"), "mine"), reply::status("QUEUED"));
    EXPECT_TRUE(ask_in(*mine, soon(), "EXEC").is_nil());
    EXPECT_EQ(ask("GET", key("k")), reply::string("theirs"));
}

TEST_P(command_seam, exec_goes_through_when_nobody_changed_the_watched_key) {
    const auto mine = session();
    EXPECT_EQ(ask_in(*mine, soon(), "WATCH", key("k")), reply::status("OK"));
    EXPECT_EQ(ask("SET", key("other"), "theirs"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "MULTI"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "SET", key("k"), "mine"), reply::status("QUEUED"));
    EXPECT_EQ(ask_in(*mine, soon(), "EXEC"), reply::array({reply::status("OK")}));
    EXPECT_EQ(ask("GET", key("k")), reply::string("mine"));
}

TEST_P(command_seam, discard_forgets_what_was_queued_and_what_was_watched) {
    const auto mine = session();
    EXPECT_EQ(ask_in(*mine, soon(), "WATCH", key("k")), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "MULTI"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "SET", key("k"), "mine"), reply::status("QUEUED"));
    EXPECT_EQ(ask_in(*mine, soon(), "DISCARD"), reply::status("OK"));
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
    EXPECT_EQ(ask("SET", key("k"), "theirs"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "MULTI"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "EXEC"), reply::array({}));
}

TEST_P(command_seam, a_session_keeps_its_state_to_itself) {
    const auto mine = session();
    const auto yours = session();
    EXPECT_EQ(ask_in(*mine, soon(), "MULTI"), reply::status("OK"));
    EXPECT_EQ(ask_in(*yours, soon(), "SET", key("a"), "1"), reply::status("OK"));
    EXPECT_EQ(ask("SET", key("b"), "1"), reply::status("OK"));
    EXPECT_EQ(ask_in(*mine, soon(), "SET", key("c"), "1"), reply::status("QUEUED"));
    EXPECT_TRUE(ask("GET", key("c")).is_nil());
    EXPECT_EQ(ask_in(*mine, soon(), "EXEC"), reply::array({reply::status("OK")}));
    EXPECT_EQ(ask("GET", key("c")), reply::string("1"));
}

TEST_P(command_seam, a_session_that_ends_inside_a_transaction_leaves_nothing) {
    {
        const auto mine = session();
        EXPECT_EQ(ask_in(*mine, soon(), "MULTI"), reply::status("OK"));
        EXPECT_EQ(ask_in(*mine, soon(), "SET", key("k"), "v"), reply::status("QUEUED"));
    }
    const auto next = session();  // perhaps on the same connection
    EXPECT_EQ(ask_in(*next, soon(), "SET", key("other"), "v"), reply::status("OK"));
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
}

TEST_P(command_seam, a_session_carries_a_pipeline_in_order) {
    const auto mine = session();
    const auto multi = words("MULTI");
    const auto incr = words("INCR", key("n"));
    const auto exec = words("EXEC");
    const std::array<command, 4> commands{multi, incr, incr, exec};
    std::array<result<reply>, 4> replies;
    mine->exchange(commands, replies, soon());
    for (const auto& r : replies) ASSERT_TRUE(r) << to_string(r.error());
    EXPECT_EQ(*replies[1], reply::status("QUEUED"));
    EXPECT_EQ(*replies[3], reply::array({reply::integer(1), reply::integer(2)}));
}

TEST_P(command_seam, a_sessions_execute_turns_an_error_reply_into_its_code) {
    const auto mine = session();
    const auto answer = mine->execute(words("EXEC"), soon());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), errc::invalid_argument) << to_string(answer.error());
}

TEST_P(command_seam, a_sessions_call_whose_time_is_over_does_nothing) {
    const auto mine = session();
    const auto answer = mine->execute(words("SET", key("k"), "v"), past());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error(), errc::timed_out) << to_string(answer.error());
    EXPECT_TRUE(ask("GET", key("k")).is_nil());
}

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "engine_fixture.hpp"

#include <thread>

namespace holdfast::memory_test {
namespace {

using namespace std::chrono_literals;

class sessions : public engine_test {
protected:
    std::unique_ptr<command_session> open() { return *engine->open_session("", no_limit); }

    template <class... Words>
    static std::string on(command_session& s, const Words&... list) {
        const auto c = words(std::string_view(list)...);
        const command one = c;
        result<reply> answer;
        s.exchange({&one, 1}, {&answer, 1}, no_limit);
        return answer ? shown(*answer) : to_string(answer.error());
    }

    // Until as many threads wait on the virtual clock as we want asleep.
    void until_asleep(std::size_t count) {
        while (time.waiting() < count) std::this_thread::yield();
    }
};

TEST_F(sessions, each_has_an_id_of_its_own_and_calls_outside_share_one) {
    auto a = open();
    auto b = open();
    const std::string outside = say("CLIENT", "ID");
    EXPECT_EQ(outside, say("CLIENT", "ID"));
    EXPECT_NE(on(*a, "CLIENT", "ID"), on(*b, "CLIENT", "ID"));
    EXPECT_NE(on(*a, "CLIENT", "ID"), outside);
    EXPECT_NE(on(*b, "CLIENT", "ID"), outside);
    EXPECT_EQ(on(*a, "CLIENT", "ID"), on(*a, "CLIENT", "ID"));
}

TEST_F(sessions, exec_with_too_many_words_ends_the_transaction) {
    auto s = open();
    on(*s, "MULTI");
    on(*s, "SET", "k", "v");
    EXPECT_EQ(on(*s, "EXEC", "x"),
              "(error) EXECABORT Transaction discarded because of: wrong number of arguments for "
              "'exec' command");
    EXPECT_EQ(on(*s, "EXEC"), "(error) ERR EXEC without MULTI");
    EXPECT_EQ(say("GET", "k"), "(nil)");
}

TEST_F(sessions, a_call_at_the_very_time_it_is_given_up_does_nothing) {
    auto s = open();
    const auto set = words("SET", "k", "v");
    EXPECT_EQ(s->execute(set, time.now()).error(), errc::timed_out);
    EXPECT_EQ(engine->execute(set, time.now()).error(), errc::timed_out);
    EXPECT_EQ(engine->open_session("", time.now()).error(), errc::timed_out);
    EXPECT_EQ(say("GET", "k"), "(nil)");
    EXPECT_TRUE(engine->execute(set, time.now() + 1ns));
}

TEST_F(sessions, a_watched_key_that_changes_aborts_the_transaction) {
    auto s = open();
    on(*s, "WATCH", "k");
    ask("SET", "k", "other");
    on(*s, "MULTI");
    on(*s, "SET", "k", "mine");
    EXPECT_EQ(on(*s, "EXEC"), "(nil)");
    EXPECT_EQ(say("GET", "k"), R"("other")");
}

TEST_F(sessions, a_watched_key_that_comes_and_goes_aborts_the_transaction) {
    auto s = open();
    on(*s, "WATCH", "k");
    ask("SET", "k", "v");
    ask("DEL", "k");
    on(*s, "MULTI");
    EXPECT_EQ(on(*s, "EXEC"), "(nil)");
}

TEST_F(sessions, a_watched_key_that_expires_aborts_the_transaction) {
    ask("SET", "k", "v", "PX", "10");
    auto s = open();
    on(*s, "WATCH", "k");
    time.advance(11ms);
    on(*s, "MULTI");
    on(*s, "PING");
    EXPECT_EQ(on(*s, "EXEC"), "(nil)");
}

TEST_F(sessions, a_move_to_a_set_that_has_the_member_leaves_that_set_untouched) {
    ask("SADD", "from", "a");
    ask("SADD", "to", "a");
    auto s = open();
    on(*s, "WATCH", "to");
    EXPECT_EQ(say("SMOVE", "from", "to", "a"), "(integer) 1");
    on(*s, "MULTI");
    EXPECT_EQ(on(*s, "EXEC"), "[]");
}

TEST_F(sessions, an_untouched_watch_lets_the_transaction_through) {
    auto s = open();
    on(*s, "WATCH", "k");
    ask("SET", "other", "v");
    on(*s, "MULTI");
    on(*s, "INCR", "k");
    EXPECT_EQ(on(*s, "EXEC"), "[(integer) 1]");
}

TEST_F(sessions, those_who_wait_for_a_list_are_served_first_come_first_served) {
    std::vector<std::string> got(2);
    std::vector<std::thread> waiters;
    for (std::size_t i = 0; i < 2; ++i) {
        waiters.emplace_back([&, i] {
            auto s = open();
            got[i] = on(*s, "BLPOP", "empty", "jobs", "0");
        });
        until_asleep(i + 1);
    }
    EXPECT_EQ(say("RPUSH", "jobs", "one", "two"), "(integer) 2");
    for (auto& w : waiters) w.join();
    EXPECT_EQ(got[0], R"(["jobs", "one"])");
    EXPECT_EQ(got[1], R"(["jobs", "two"])");
    EXPECT_EQ(say("EXISTS", "jobs"), "(integer) 0");
}

TEST_F(sessions, waiting_ends_with_nil_when_its_time_is_over) {
    std::string got;
    std::thread waiter([&] {
        auto s = open();
        got = on(*s, "BLPOP", "jobs", "2.5");
    });
    until_asleep(1);
    time.advance(2500ms);
    waiter.join();
    EXPECT_EQ(got, "(nil)");
    ask("RPUSH", "jobs", "late");
    EXPECT_EQ(say("LLEN", "jobs"), "(integer) 1");
}

TEST_F(sessions, giving_up_a_wait_takes_nothing_and_the_session_goes_on) {
    auto s = open();
    const auto c = words("BLPOP", "jobs", 0);
    EXPECT_EQ(s->execute(c, time.now()).error(), errc::timed_out);
    EXPECT_EQ(on(*s, "PING"), "PONG");
}

TEST_F(sessions, an_element_can_be_moved_to_a_list_that_another_waits_for) {
    std::string moved;
    std::string popped;
    std::thread mover([&] {
        auto s = open();
        moved = on(*s, "BLMOVE", "in", "out", "LEFT", "RIGHT", "0");
    });
    until_asleep(1);
    std::thread popper([&] {
        auto s = open();
        popped = on(*s, "BLPOP", "out", "0");
    });
    until_asleep(2);
    ask("EVAL", "return redis.call('RPUSH', KEYS[1], 'x')", "1", "in");
    mover.join();
    popper.join();
    EXPECT_EQ(moved, R"("x")");
    EXPECT_EQ(popped, R"(["out", "x"])");
}

TEST_F(sessions, inside_a_transaction_nothing_waits) {
    auto s = open();
    on(*s, "MULTI");
    on(*s, "BLPOP", "jobs", "0");
    EXPECT_EQ(on(*s, "EXEC"), "[(nil)]");
}

TEST_F(sessions, many_threads_count_without_losing_one) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i) ask("INCR", "n");
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(say("GET", "n"), R"("8000")");
}

}  // namespace
}  // namespace holdfast::memory_test

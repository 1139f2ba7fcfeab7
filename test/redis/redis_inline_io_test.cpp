// SPDX-License-Identifier: Apache-2.0
//
// A thread that submits to several servers, and does their I/O while it waits.
#include "runtime/inline_io.hpp"

#include <holdfast/redis/redis.hpp>

#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

/// What became of one command that was submitted.
struct outcome {
    std::atomic<bool> told = false;
    result<reply> answer;
    std::thread::id on;

    command_engine::completion keep() {
        return [this](result<reply> said) {
            answer = std::move(said);
            on = std::this_thread::get_id();
            told = true;
        };
    }
};

class redis_turn : public testing::Test {
protected:
    static constexpr std::size_t count = 3;

    redis_turn() {
        for (std::size_t i = 0; i < count; ++i) {
            servers_.push_back(std::make_unique<test::redis_server>(
                test::redis_options{.arguments = {"--enable-debug-command", "yes"}}));
            engines_.push_back(open_redis(servers_.back()->url()).value());
        }
        // The link's thread makes the connection, and gives it up when callers come one by one; on
        // a busy machine that takes a while.
        for (const auto& engine : engines_) {
            test::wait_for("a connection that is nobody's", [&] {
                EXPECT_TRUE(engine->execute(words("PING"), soon()));
                return answers_here(*engine);
            });
        }
    }
    static inline detail::adaptive_yield waits_{system_clock(),
                                                detail::adaptive_yield::with_several()};

    static bool answers_here(redis_engine& engine) {
        outcome seen;
        detail::inline_io turn(system_clock(), waits_);
        engine.submit(words("PING"), soon(), seen.keep());
        turn.serve(soon(), [&] { return seen.told.load(); });
        test::wait_for("the answer", [&] { return seen.told.load(); });  // there or here
        return seen.on == std::this_thread::get_id();
    }
    static time_point soon() { return system_clock().now() + 30s; }
    static bool all_told(const std::vector<outcome>& seen) {
        return std::ranges::all_of(seen, [](const outcome& one) { return one.told.load(); });
    }

    std::vector<std::unique_ptr<test::redis_server>> servers_;
    std::vector<std::unique_ptr<redis_engine>> engines_;
};

TEST_F(redis_turn, answers_come_on_the_thread_that_waits) {
    std::vector<outcome> seen(count);
    {
        detail::inline_io turn(system_clock(), waits_);
        for (std::size_t i = 0; i < count; ++i) {
            engines_[i]->submit(words("ECHO", "hello"), soon(), seen[i].keep());
        }
        turn.serve(soon(), [&] { return all_told(seen); });
    }
    for (const outcome& one : seen) {
        ASSERT_TRUE(one.told);
        EXPECT_EQ(one.answer.value(), reply::string("hello"));
        EXPECT_EQ(one.on, std::this_thread::get_id());
    }
    EXPECT_TRUE(engines_[0]->execute(words("PING"), soon())) << "and all is as before";
}

TEST_F(redis_turn, a_handler_may_ask_again_on_the_same_connection_and_on_another) {
    outcome first;
    std::vector<outcome> next(2);
    detail::inline_io turn(system_clock(), waits_);
    engines_[0]->submit(words("INCR", "n"), soon(), [&](result<reply> said) {
        engines_[0]->submit(words("INCR", "n"), soon(), next[0].keep());
        engines_[1]->submit(words("INCR", "n"), soon(), next[1].keep());
        first.keep()(std::move(said));
    });
    turn.serve(soon(), [&] { return all_told(next); });
    ASSERT_TRUE(all_told(next));
    EXPECT_EQ(next[0].answer.value(), reply::integer(2));
    EXPECT_EQ(next[1].answer.value(), reply::integer(1));
}

TEST_F(redis_turn, what_is_not_answered_at_its_end_goes_to_the_engines_own_thread) {
    outcome slow;
    {
        detail::inline_io turn(system_clock(), waits_);
        engines_[0]->submit(words("DEBUG", "SLEEP", "0.3"), soon(), slow.keep());
        turn.serve(system_clock().now() + 20ms, [&] { return slow.told.load(); });
        EXPECT_FALSE(slow.told);
    }
    test::wait_for("the answer", [&] { return slow.told.load(); });
    EXPECT_TRUE(slow.answer);
    EXPECT_NE(slow.on, std::this_thread::get_id());
}

TEST_F(redis_turn, what_it_leaves_unread_is_told_once_whoever_comes_next) {
    constexpr std::size_t rounds = 400;
    std::vector<std::vector<outcome>> seen(rounds);
    for (std::size_t round = 0; round < rounds; ++round) {
        seen[round] = std::vector<outcome>(count);
        const auto told = [&] {
            return std::ranges::count_if(seen[round],
                                         [](const outcome& o) { return o.told.load(); });
        };
        {
            detail::inline_io turn(system_clock(), waits_);
            for (std::size_t i = 0; i < count; ++i) {
                engines_[i]->submit(words("INCR", "n"), soon(), seen[round][i].keep());
            }
            turn.serve(soon(), [&] { return told() >= 2; });
        }
        // A caller that reads for itself finds the rest before its own reply.
        if (round % 3 == 0) {
            const auto own = engines_[round / 3 % count]->execute(words("GET", "n"), soon());
            ASSERT_EQ(own.value().text(), std::to_string(round + 1));
        }
    }
    for (std::size_t round = 0; round < rounds; ++round) {
        test::wait_for("the answers", [&] { return all_told(seen[round]); });
        for (const outcome& one : seen[round]) {
            EXPECT_EQ(one.answer.value(), reply::integer(static_cast<std::int64_t>(round + 1)));
        }
    }
}

TEST_F(redis_turn, what_it_leaves_unread_is_told_when_the_server_or_the_engine_ends) {
    std::vector<outcome> late(2);
    for (std::size_t i = 0; i < late.size(); ++i) {
        servers_[i]->pause();
        const detail::inline_io turn(system_clock(), waits_);
        engines_[i]->submit(words("PING"), soon(), late[i].keep());
    }
    engines_[0].reset();
    EXPECT_TRUE(late[0].told) << "an engine that ends tells all";
    servers_[1]->kill();
    test::wait_for("the answer", [&] { return late[1].told.load(); });
    for (const outcome& one : late) {
        ASSERT_FALSE(one.answer);
        EXPECT_EQ(one.answer.error(), errc::outcome_unknown);
    }
    servers_[0]->resume();
}

// Only what nobody waits for is left unread: a reply that another thread waits for is not.
TEST_F(redis_turn, who_came_while_it_read_is_answered_when_it_has_left) {
    constexpr int rounds = 100;
    duration shortest = 1h;
    for (int i = 0; i < rounds; ++i) {
        outcome first;
        outcome second;
        std::jthread other;
        {
            detail::inline_io turn(system_clock(), waits_);
            engines_[0]->submit(words("PING"), soon(), first.keep());
            other = std::jthread([&] {
                engines_[0]->submit(words("DEBUG", "SLEEP", "0.0005"), soon(), second.keep());
            });
            other.join();
            turn.serve(soon(), [&] { return first.told.load(); });
        }
        const time_point left = system_clock().now();
        while (!second.told) std::this_thread::yield();
        shortest = std::min(shortest, system_clock().now() - left);
        ASSERT_TRUE(second.answer);
    }
    EXPECT_LT(shortest, 4ms) << "what is left unread is read after 5 ms at the soonest";
}

TEST_F(redis_turn, a_silent_server_is_given_up_in_time) {
    outcome silent;
    servers_[0]->pause();
    const time_point asked = system_clock().now();
    detail::inline_io turn(system_clock(), waits_);
    engines_[0]->submit(words("PING"), asked + 100ms, silent.keep());
    turn.serve(soon(), [&] { return silent.told.load(); });
    const duration took = system_clock().now() - asked;
    ASSERT_TRUE(silent.told) << "the server does not return before";
    servers_[0]->resume();
    ASSERT_FALSE(silent.answer);
    EXPECT_EQ(silent.answer.error(), errc::outcome_unknown);
    EXPECT_GE(took, 100ms);
}

TEST_F(redis_turn, others_who_use_the_same_connection_are_answered_too) {
    std::atomic<bool> over = false;
    std::atomic<int> others = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back([&] {
            while (!over) {
                EXPECT_TRUE(engines_[0]->execute(words("PING"), soon()));
                ++others;
            }
        });
    }
    for (int i = 0; i < 500; ++i) {
        outcome mine;
        detail::inline_io turn(system_clock(), waits_);
        engines_[0]->submit(words("PING"), soon(), mine.keep());
        turn.serve(soon(), [&] { return mine.told.load(); });
        test::wait_for("the answer", [&] { return mine.told.load(); });
        ASSERT_TRUE(mine.answer);
    }
    over = true;
    threads.clear();
    EXPECT_GT(others, 0);
}

}  // namespace
}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
//
// What callers are told when the way to the server breaks: one outcome each, in time, and true.
#include <holdfast/redis/redis.hpp>

#include "support/fault_proxy.hpp"
#include "support/free_port.hpp"
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <span>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_faults : public testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<test::redis_server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    void SetUp() override {
        server_->raw("FLUSHALL");
        proxy_ = std::make_unique<test::fault_proxy>(server_->port());
        engine_ = open(proxy_->port(), "?reply_timeout=300ms&connect_timeout=300ms");
    }
    static std::unique_ptr<redis_engine> open(std::uint16_t port, const std::string& options) {
        return open_redis("redis://127.0.0.1:" + std::to_string(port) + options).value();
    }

    static time_point in(duration d) { return system_clock().now() + d; }
    result<reply> run(const command& c, duration d = 5s) { return engine_->execute(c, in(d)); }
    static std::int64_t stored(std::string_view key) {
        const reply r = server_->raw("GET", key);
        return r.is_nil() ? 0 : std::stoll(r.text());
    }

    /// INCRs a key of its own from each of several threads until `stop`; checks each outcome
    /// against the server afterwards: answered + unknown >= stored >= answered.
    struct tally {
        std::atomic<int> answered = 0;
        std::atomic<int> unknown = 0;
        std::atomic<int> unsent = 0;
        std::atomic<int> late = 0;
        std::atomic<int> other = 0;
    };
    void hammer(tally& t, int threads, int calls, duration patience) {
        std::vector<std::thread> all;
        for (int id = 0; id < threads; ++id) {
            all.emplace_back([&, id] {
                for (int i = 0; i < calls; ++i) {
                    const time_point give_up = in(patience);
                    const auto r = engine_->execute(words("INCR", id), give_up);
                    if (system_clock().now() > give_up + 1s) ++t.late;
                    if (r)
                        ++t.answered;
                    else if (r.error() == errc::outcome_unknown)
                        ++t.unknown;
                    else if (r.error() == errc::unavailable || r.error() == errc::timed_out)
                        ++t.unsent;
                    else
                        ++t.other;
                }
            });
        }
        for (auto& one : all) one.join();
    }
    static void expect_true(const tally& t, int threads) {
        std::int64_t sum = 0;
        for (int id = 0; id < threads; ++id) sum += stored(std::to_string(id));
        EXPECT_GE(sum, t.answered) << "an answered command was not carried out";
        EXPECT_LE(sum, t.answered + t.unknown) << "a command said to be unsent was carried out";
        EXPECT_EQ(t.late, 0);
        EXPECT_EQ(t.other, 0);
    }

    static std::unique_ptr<test::redis_server> server_;
    std::unique_ptr<test::fault_proxy> proxy_;
    std::unique_ptr<redis_engine> engine_;
};
std::unique_ptr<test::redis_server> redis_faults::server_;

TEST_F(redis_faults, a_server_that_is_not_there_is_unavailable_and_the_error_names_it) {
    auto nobody = open(test::free_port(), "");
    const auto r = nobody->execute(words("SET", "key-of-mine", "value-of-mine"), in(2s));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::unavailable);
    for (const auto* part : {"SET", "127.0.0.1:", "connect", "refused", " ms"}) {
        EXPECT_NE(r.error().detail.find(part), std::string::npos) << r.error().detail;
    }
    EXPECT_EQ(r.error().detail.find("of-mine"), std::string::npos) << r.error().detail;
}

TEST_F(redis_faults, a_dropped_reply_is_an_unknown_outcome_and_was_carried_out) {
    ASSERT_TRUE(run(words("PING")));
    proxy_->drop_replies();
    const auto r = run(words("INCR", "n"));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::outcome_unknown) << r.error().detail;
    EXPECT_EQ(stored("n"), 1);
    proxy_->pass();
    EXPECT_EQ(run(words("INCR", "n")).value(), reply::integer(2));
}

TEST_F(redis_faults, a_short_deadline_of_one_caller_does_not_harm_the_others) {
    ASSERT_TRUE(run(words("PING")));
    engine_ = open(proxy_->port(), "");
    ASSERT_TRUE(run(words("PING")));
    proxy_->delay(300ms);
    auto patient =
        std::async(std::launch::async, [&] { return run(words("INCR", "patient"), 5s); });
    test::wait_for("the first in flight", [&] { return engine_->statistics().in_flight == 1; });
    const auto hasty = run(words("INCR", "hasty"), 50ms);
    ASSERT_FALSE(hasty);
    const auto got = patient.get();
    EXPECT_TRUE(got) << to_string(got.error());
    proxy_->pass();
    EXPECT_TRUE(run(words("PING")));
}

TEST_F(redis_faults, an_idempotent_command_survives_a_lost_connection) {
    ASSERT_TRUE(run(words("PING")));
    proxy_->cut_replies_after(0);
    std::thread healer([&] {  // not when the server has seen it: its reply may be on the way still
        test::wait_for("the loss", [&] { return engine_->statistics().disconnects > 0; });
        proxy_->pass();
    });
    const auto r = engine_->execute(words("SET", "k", 7).idempotent(), in(10s));
    healer.join();
    EXPECT_EQ(stored("k"), 7);
    EXPECT_EQ(r.value(), reply::status("OK"));
    EXPECT_GE(engine_->statistics().repeated, 1U);
}

// By either face: the first try is carried out, and for the second there is no memory.
TEST_F(redis_faults, an_idempotent_command_that_is_refused_the_second_time_is_unknown) {
    const auto by_waiting = [&](const command& c) { return run(c, 10s); };
    const auto by_submitting = [&](const command& c) {
        std::promise<result<reply>> told;
        engine_->submit(c, in(10s), [&](result<reply> r) { told.set_value(std::move(r)); });
        return told.get_future().get();
    };
    for (const std::function<result<reply>(const command&)>& ask :
         {std::function(by_waiting), std::function<result<reply>(const command&)>(by_submitting)}) {
        ASSERT_TRUE(run(words("PING")));
        const auto lost = engine_->statistics().disconnects;
        proxy_->cut_replies_after(0);
        std::thread healer([&] {
            test::wait_for("the loss", [&] { return engine_->statistics().disconnects > lost; });
            server_->raw("CONFIG", "SET", "maxmemory", "1");
            proxy_->pass();
        });
        const auto set = words("SET", "k", 7);
        const auto r = ask(set.idempotent());
        healer.join();
        server_->raw("CONFIG", "SET", "maxmemory", "0");
        EXPECT_EQ(stored("k"), 7);
        ASSERT_FALSE(r) << to_string(*r);
        EXPECT_EQ(r.error(), errc::outcome_unknown) << r.error().detail;
        EXPECT_NE(r.error().detail.find("OOM"), std::string::npos) << r.error().detail;
        server_->raw("DEL", "k");
    }
}

TEST_F(redis_faults, a_reply_cut_in_the_middle_of_a_frame_is_unknown_and_the_rest_stays_answered) {
    ASSERT_TRUE(run(words("PING")));
    server_->raw("SET", "text", "0123456789");
    proxy_->cut_replies_after(4 + 4 + 6);  // ":1\r\n" ":2\r\n" "$10\r\n0" and no more
    const auto incr = words("INCR", "n");
    const auto get = words("GET", "text");
    const command all[] = {incr, incr, get, incr};
    result<reply> answers[4];
    engine_->exchange(all, answers, in(5s));
    EXPECT_EQ(answers[0].value(), reply::integer(1));
    EXPECT_EQ(answers[1].value(), reply::integer(2));
    EXPECT_EQ(answers[2].error(), errc::outcome_unknown);
    EXPECT_EQ(answers[3].error(), errc::outcome_unknown);
    EXPECT_EQ(stored("n"), 3);
}

// In a crowd, any caller may be the one that finds the connection at its end.
TEST_F(redis_faults, resets_under_load_leave_every_caller_with_one_true_outcome) {
    for (const int threads : {16, 48}) {
        server_->raw("FLUSHALL");
        tally t;
        std::atomic<bool> stop = false;
        std::thread breaker([&] {
            while (!stop) {
                const auto before = engine_->statistics().answered;
                const auto more = [&] {
                    return stop || engine_->statistics().answered > before + 200;
                };
                test::wait_for("some progress", more, 20s);
                proxy_->reset();
                proxy_->pass();
            }
        });
        hammer(t, threads, 16'000 / threads, 2s);
        stop = true;
        breaker.join();
        expect_true(t, threads);
        EXPECT_GT(t.answered, 1000);
        EXPECT_GT(engine_->statistics().disconnects, 1U);
    }
}

TEST_F(redis_faults, a_reply_beyond_the_limit_leaves_a_crowd_with_true_outcomes) {
    server_->raw("SET", "big", std::string(100'000, 'x'));
    engine_ = open(proxy_->port(), "?max_reply_bytes=50k");
    std::atomic<bool> stop = false;
    std::atomic<int> refused = 0;
    std::thread glutton([&] {
        do {
            const auto r = run(words("GET", "big"));
            refused += !r && r.error().detail.find("max_reply_bytes") != std::string::npos ? 1 : 0;
        } while (!stop);
    });
    tally t;
    hammer(t, 48, 200, 2s);
    stop = true;
    glutton.join();
    expect_true(t, 48);
    EXPECT_GT(refused, 0);
    EXPECT_GT(t.answered, 1000);
}

TEST_F(redis_faults, a_black_hole_ends_every_call_by_its_deadline) {
    ASSERT_TRUE(run(words("PING")));
    proxy_->black_hole();
    tally t;
    hammer(t, 8, 3, 200ms);
    EXPECT_EQ(t.answered, 0);
    expect_true(t, 8);
    proxy_->pass();
    test::wait_for("recovery", [&] { return run(words("PING"), 1s).has_value(); });
}

// The first one to be late makes the connection retire, and the next connection hangs as well:
// those that are in flight on the old one do not wait for it.
TEST_F(redis_faults, who_is_in_flight_does_not_wait_for_the_next_connection) {
    test::redis_server stuck;
    const auto engine = open(stuck.port(), "?connect_timeout=60s&connections=1");
    ASSERT_TRUE(engine->execute(words("PING"), in(5s)));
    stuck.pause();
    const time_point start = system_clock().now();
    std::vector<std::thread> all;
    for (int i = 0; i < 8; ++i) {
        all.emplace_back([&, i] {
            std::this_thread::sleep_for(40ms * i);  // style: allow clock, because they are apart
            EXPECT_FALSE(engine->execute(words("INCR", "n"), in(200ms)));
        });
    }
    for (auto& one : all) one.join();
    EXPECT_LT(system_clock().now() - start, 30s)
        << "by their deadlines, not by the connect timeout";
    stuck.resume();
}

// Although each of them may be repeated: nobody knows any more what comes after what.
TEST_F(redis_faults, commands_submitted_together_are_not_sent_again_once_they_were_sent) {
    ASSERT_TRUE(run(words("PING")));
    proxy_->cut_replies_after(0);
    const auto first = words("SET", "k", 7);
    const auto second = words("INCRBY", "n", 1);
    const std::array<command, 2> both{first.idempotent(), second.idempotent()};
    std::promise<void> told;
    std::array<result<reply>, 2> answers;
    engine_->submit_together(both, in(10s), [&](std::span<result<reply>> got) {
        std::ranges::move(got, answers.begin());
        told.set_value();
    });
    told.get_future().get();
    for (const auto& one : answers) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error(), errc::outcome_unknown) << one.error().detail;
        EXPECT_NE(one.error().detail.find("SET, INCRBY"), std::string::npos) << one.error().detail;
    }
    proxy_->pass();
    EXPECT_TRUE(run(words("PING")));
    EXPECT_EQ(stored("n"), 1);
}

TEST_F(redis_faults, submitted_commands_end_by_their_deadline_too) {
    ASSERT_TRUE(run(words("PING")));
    proxy_->black_hole();
    std::atomic<int> told = 0;
    for (int i = 0; i < 50; ++i) {
        engine_->submit(words("INCR", "n"), in(200ms), [&](result<reply> r) {
            EXPECT_FALSE(r);
            ++told;
        });
    }
    test::wait_for("all told", [&] { return told == 50; }, 3s);
    EXPECT_EQ(stored("n"), 0);
}

TEST_F(redis_faults, closing_the_client_tells_every_submitted_command) {
    ASSERT_TRUE(run(words("PING")));
    proxy_->black_hole();
    std::atomic<int> told = 0;
    for (int i = 0; i < 50; ++i) {
        engine_->submit(words("INCR", "n"), in(60s), [&](result<reply> r) {
            EXPECT_FALSE(r);
            ++told;
        });
    }
    engine_.reset();
    EXPECT_EQ(told, 50);
}

TEST_F(redis_faults, a_command_that_timed_out_in_the_queue_is_never_sent) {
    engine_ = open(proxy_->port(), "?reply_timeout=60s&connect_timeout=60s");
    proxy_->black_hole();  // accepts, and never greets
    const auto r = run(words("INCR", "n"), 100ms);
    EXPECT_EQ(r.error(), errc::timed_out) << to_string(r.error());
    proxy_->pass();
    engine_ = open(proxy_->port(), "");
    EXPECT_TRUE(run(words("PING")));
    EXPECT_EQ(stored("n"), 0);
}

TEST_F(redis_faults, a_connection_that_the_server_closed_while_idle_costs_nothing) {
    ASSERT_TRUE(run(words("INCR", "n")));
    server_->raw("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes");
    test::wait_for("the end arrived", [&] { return proxy_->open() == 0; });
    // Idle, as the name says: the client looks after a pause.
    std::this_thread::sleep_for(150ms);  // style: allow clock, because the pause is the case
    EXPECT_EQ(run(words("INCR", "n")).value(), reply::integer(2));
}

TEST_F(redis_faults, a_restarted_server_is_found_again) {
    test::redis_server own;
    engine_ = open(own.port(), "");
    ASSERT_TRUE(run(words("PING")));
    own.restart();
    test::wait_for("recovery", [&] { return run(words("PING"), 1s).has_value(); });
}

TEST_F(redis_faults, subscriptions_come_back_after_a_break_and_are_told_of_the_gap) {
    std::atomic<int> gaps = 0;
    std::atomic<int> messages = 0;
    auto s = engine_->subscribe(
        "c", channel_scope::global,
        [&](const push_event& e) { ++(e.type == push_event::kind::gap ? gaps : messages); },
        in(5s));
    ASSERT_TRUE(s);
    EXPECT_EQ(gaps, 0);
    proxy_->reset();
    proxy_->pass();
    test::wait_for("the gap", [&] { return gaps == 1; });
    EXPECT_EQ(server_->raw("PUBLISH", "c", "x"), reply::integer(1));
    test::wait_for("the message", [&] { return messages == 1; });
}

TEST_F(redis_faults, a_subscriber_notices_a_silent_peer) {
    std::atomic<int> gaps = 0;
    auto s = engine_->subscribe(
        "c", channel_scope::global,
        [&](const push_event& e) { gaps += e.type == push_event::kind::gap ? 1 : 0; }, in(5s));
    ASSERT_TRUE(s);
    proxy_->black_hole();
    test::wait_for("it connects again", [&] { return proxy_->accepted() >= 2; });
    proxy_->pass();
    test::wait_for("the gap", [&] { return gaps >= 1; });
}

TEST_F(redis_faults, a_session_whose_reply_was_lost_is_of_no_further_use) {
    auto session = engine_->open_session("", in(5s)).value();
    ASSERT_TRUE(session->execute(words("PING"), in(5s)));
    proxy_->drop_replies();
    EXPECT_EQ(session->execute(words("INCR", "n"), in(100ms)).error(), errc::outcome_unknown);
    proxy_->pass();
    EXPECT_EQ(session->execute(words("INCR", "n"), in(1s)).error(), errc::unavailable);
    EXPECT_EQ(stored("n"), 1);
}

TEST_F(redis_faults, a_transaction_without_an_answer_is_unknown) {
    ASSERT_TRUE(run(words("PING")));
    proxy_->drop_replies();
    const auto incr = words("INCR", "n");
    const command all[] = {incr, incr};
    EXPECT_EQ(engine_->transaction(all, in(100ms)).error(), errc::outcome_unknown);
    EXPECT_EQ(stored("n"), 2);
}

TEST_F(redis_faults, a_reply_beyond_the_limit_ends_the_connection_and_not_the_client) {
    server_->raw("SET", "big", std::string(100'000, 'x'));
    engine_ = open(proxy_->port(), "?max_reply_bytes=50k");
    const auto r = run(words("GET", "big"));
    ASSERT_FALSE(r);
    EXPECT_NE(r.error().detail.find("max_reply_bytes"), std::string::npos) << r.error().detail;
    EXPECT_TRUE(run(words("PING")));
}

TEST_F(redis_faults, a_full_queue_refuses) {
    engine_ = open(proxy_->port(), "?max_queued=4&connect_timeout=10s");
    proxy_->black_hole();
    std::atomic<int> refused = 0;
    std::atomic<int> told = 0;
    for (int i = 0; i < 10; ++i) {
        engine_->submit(words("PING"), in(300ms), [&](result<reply> r) {
            refused += !r && r.error() == errc::unavailable ? 1 : 0;
            ++told;
        });
    }
    test::wait_for("all told", [&] { return told == 10; });
    EXPECT_EQ(refused, 6);
}

TEST_F(redis_faults, a_child_of_fork_is_refused_and_the_parent_goes_on) {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "allowed: the thread sanitizer does not follow a process with threads through "
                    "fork(); the other builds run this";
#endif
    ASSERT_TRUE(run(words("PING")));
    auto s = engine_->subscribe("c", channel_scope::global, [](const push_event&) {}, in(5s));
    const pid_t child = ::fork();
    if (child == 0) {
        const auto r = run(words("INCR", "n"));
        const bool refused = !r && r.error() == errc::unavailable;
        s->reset();
        engine_.reset();
        ::_exit(refused ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(run(words("INCR", "n")).value(), reply::integer(1));
}

}  // namespace
}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
//
// What the Redis client does on a healthy server.
#include <holdfast/redis/redis.hpp>

#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <iterator>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_commands : public testing::Test {
protected:
    static void SetUpTestSuite() {
        server_ = std::make_unique<test::redis_server>(
            test::redis_options{.arguments = {"--enable-debug-command", "yes"}});
    }
    static void TearDownTestSuite() { server_.reset(); }

    void SetUp() override {
        server_->raw("FLUSHALL");
        server_->raw("SCRIPT", "FLUSH");
        engine_ = open_redis(server_->url()).value();
    }

    static time_point soon() { return system_clock().now() + 30s; }
    result<reply> run(const command& c) { return engine_->execute(c, soon()); }

    static std::unique_ptr<test::redis_server> server_;
    std::unique_ptr<redis_engine> engine_;
};
std::unique_ptr<test::redis_server> redis_commands::server_;

TEST_F(redis_commands, a_value_that_was_set_can_be_read) {
    const std::string bytes("a\0b\r\n\xff", 6);
    EXPECT_EQ(run(words("SET", "k", bytes)).value(), reply::status("OK"));
    EXPECT_EQ(run(words("GET", "k")).value(), reply::string(bytes));
    EXPECT_EQ(run(words("GET", "absent")).value(), reply::nil());
    EXPECT_EQ(run(words("INCR", "n")).value(), reply::integer(1));
}

TEST_F(redis_commands, a_pipeline_gives_each_command_its_own_reply_in_order) {
    const auto set = words("SET", "k", "v");
    const auto wrong = words("LPUSH", "k", "x");
    const auto get = words("GET", "k");
    const command all[] = {set, wrong, get};
    result<reply> answers[3];
    engine_->exchange(all, answers, soon());
    EXPECT_EQ(answers[0].value(), reply::status("OK"));
    EXPECT_TRUE(answers[1].value().is_error());
    EXPECT_EQ(answers[2].value(), reply::string("v"));
}

TEST_F(redis_commands, a_large_value_goes_and_comes_whole) {
    const std::string big(20'000'000, 'x');
    EXPECT_EQ(run(words("SET", "k", big)).value(), reply::status("OK"));
    EXPECT_EQ(run(words("GET", "k")).value().text(), big);
}

TEST_F(redis_commands, a_pipeline_larger_than_all_buffers_does_not_deadlock) {
    const std::string big(1'000'000, 'x');
    run(words("SET", "k", big)).value();
    const auto get = words("GET", "k");
    const auto echo = words("ECHO", big);
    std::vector<command> all;
    for (int i = 0; i < 20; ++i) all.insert(all.end(), {get, echo});
    std::vector<result<reply>> answers(all.size());
    engine_->exchange(all, answers, soon());
    for (const auto& a : answers) EXPECT_EQ(a.value().text().size(), big.size());
}

TEST_F(redis_commands, nested_arrays_are_read) {
    const script nested("return {1, {'a', {2, {}}}, false}");
    const auto answer = engine_->evaluate(nested, {}, {}, soon());
    EXPECT_EQ(to_string(answer.value()), R"([(integer) 1, ["a", [(integer) 2, []]], (nil)])");
}

TEST_F(redis_commands, a_script_that_the_server_forgot_is_loaded_inside_the_call) {
    const script add("return redis.call('INCRBY', KEYS[1], ARGV[1])");
    const std::string_view key = "n";
    const std::string_view by = "5";
    EXPECT_EQ(engine_->evaluate(add, {&key, 1}, {&by, 1}, soon()).value(), reply::integer(5));
    server_->raw("SCRIPT", "FLUSH");
    EXPECT_EQ(engine_->evaluate(add, {&key, 1}, {&by, 1}, soon()).value(), reply::integer(10));
    EXPECT_EQ(server_->raw("GET", "n"), reply::string("10"));
}

TEST_F(redis_commands, a_submitted_script_is_loaded_too) {
    const script one("return 1");
    const auto call = words("EVALSHA", one.sha1(), 0);
    std::promise<result<reply>> told;
    engine_->submit({call.view(), repeat::never, &one}, soon(),
                    [&](result<reply> r) { told.set_value(std::move(r)); });
    EXPECT_EQ(told.get_future().get().value(), reply::integer(1));
}

TEST_F(redis_commands, a_transaction_answers_what_exec_answers) {
    const script get("return redis.call('GET', KEYS[1])");
    const auto set = words("SET", "k", "v");
    const auto eval = words("EVALSHA", get.sha1(), 1, "k");
    const command all[] = {set, {eval.view(), repeat::never, &get}};
    EXPECT_EQ(to_string(engine_->transaction(all, soon()).value()), R"([OK, "v"])");
}

TEST_F(redis_commands, a_refused_transaction_says_which_command_was_refused) {
    const auto good = words("SET", "k", "v");
    const auto bad = words("GET");
    const command all[] = {good, bad};
    const auto answer = engine_->transaction(all, soon());
    ASSERT_TRUE(answer) << to_string(answer.error());
    EXPECT_EQ(answer->text(),
              "EXECABORT Transaction discarded because of: "
              "ERR wrong number of arguments for 'get' command");
    EXPECT_EQ(to_error(*answer), errc::invalid_argument);
    EXPECT_EQ(server_->raw("EXISTS", "k"), reply::integer(0));
}

TEST_F(redis_commands, watch_on_a_session_sees_anothers_write) {
    auto session = engine_->open_session("k", soon()).value();
    EXPECT_TRUE(session->execute(words("WATCH", "k"), soon()));
    EXPECT_TRUE(run(words("SET", "k", "theirs")));
    const auto multi = words("MULTI");
    const auto set = words("SET", "k", "ours");
    const auto exec = words("EXEC");
    const command all[] = {multi, set, exec};
    result<reply> answers[3];
    session->exchange(all, answers, soon());
    EXPECT_TRUE(answers[2].value().is_nil());
    EXPECT_EQ(server_->raw("GET", "k"), reply::string("theirs"));
}

TEST_F(redis_commands, a_blocking_pop_on_a_session_outlasts_the_reply_timeout) {
    auto hasty = open_redis(server_->url() + "?reply_timeout=50ms").value();
    auto session = hasty->open_session("q", soon()).value();
    std::thread giver([&] {
        test::wait_for("a blocked client", [&] {
            return server_->raw("INFO", "clients").text().find("blocked_clients:1") !=
                   std::string::npos;
        });
        // Longer than the reply timeout: what must not end the wait has had its chance.
        EXPECT_EQ(server_->raw("DEBUG", "SLEEP", "0.1"), reply::status("OK"));
        server_->raw("RPUSH", "q", "item");
    });
    const auto got = session->execute(words("BLPOP", "q", 5), soon());
    giver.join();
    EXPECT_EQ(to_string(got.value()), R"(["q", "item"])");
}

TEST_F(redis_commands, a_session_that_left_nothing_behind_is_used_again) {
    {
        EXPECT_TRUE(engine_->open_session("", soon()).value()->execute(words("PING"), soon()));
    }
    {
        EXPECT_TRUE(engine_->open_session("", soon()).value()->execute(words("PING"), soon()));
    }
    EXPECT_EQ(engine_->statistics().connects, 1U);
    {
        EXPECT_TRUE(
            engine_->open_session("", soon()).value()->execute(words("WATCH", "a"), soon()));
    }
    {
        EXPECT_TRUE(engine_->open_session("", soon()).value()->execute(words("PING"), soon()));
    }
    EXPECT_EQ(engine_->statistics().connects, 2U);
}

TEST_F(redis_commands, sessions_are_bounded) {
    auto small = open_redis(server_->url() + "?sessions=2").value();
    auto first = small->open_session("", soon());
    auto second = small->open_session("", soon());
    ASSERT_TRUE(first && second);
    EXPECT_EQ(small->open_session("", soon()).error(), errc::unavailable);
    first->reset();
    EXPECT_TRUE(small->open_session("", soon()));
}

TEST_F(redis_commands, messages_reach_every_subscription_of_the_channel_until_it_ends) {
    std::mutex mutex;
    std::vector<std::string> heard;
    const auto listen = [&](const push_event& e) {
        const std::scoped_lock guard(mutex);
        heard.emplace_back(e.payload);
    };
    const auto count = [&] {
        const std::scoped_lock guard(mutex);
        return heard.size();
    };
    auto a = engine_->subscribe("news", channel_scope::global, listen, soon()).value();
    auto b = engine_->subscribe("news", channel_scope::sharded, listen, soon()).value();
    EXPECT_EQ(server_->raw("PUBLISH", "news", "one"), reply::integer(1));
    test::wait_for("both", [&] { return count() == 2; });
    a.reset();
    server_->raw("PUBLISH", "news", "two");
    test::wait_for("the other", [&] { return count() == 3; });
    b.reset();
    test::wait_for("unsubscribed",
                   [&] { return server_->raw("PUBLISH", "news", "three") == reply::integer(0); });
    EXPECT_EQ(count(), 3U);
}

// The last piece of it, as it is read, looks like a message of its own.
TEST_F(redis_commands, a_message_in_pieces_is_one_message) {
    std::mutex mutex;
    std::vector<std::string> heard;
    const auto listening = engine_->subscribe(
        "news", channel_scope::global,
        [&](const push_event& e) {
            const std::scoped_lock guard(mutex);
            heard.emplace_back(e.payload);
        },
        soon());
    ASSERT_TRUE(listening) << to_string(listening.error());
    const std::string pretended = "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$4\r\nfake";
    const std::string before = "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$16384\r\n";
    const std::string large = std::string(16384 - before.size(), 'x') + pretended;
    const auto all = [&] {
        const std::scoped_lock guard(mutex);
        return heard;
    };
    const std::vector<std::string> sent{"small", large, ""};
    for (std::size_t i = 0; i < sent.size(); ++i) {
        EXPECT_EQ(server_->raw("PUBLISH", "news", sent[i]), reply::integer(1));
        test::wait_for("the message", [&] { return all().size() > i; });
    }
    EXPECT_EQ(all(), sent);
}

TEST_F(redis_commands, ten_thousand_channels_share_one_connection) {
    std::atomic<int> heard = 0;
    std::vector<std::unique_ptr<subscription>> all;
    const time_point late = system_clock().now() + 60s;
    for (int i = 0; i < 10'000; ++i) {
        auto one = engine_->subscribe(
            "c" + std::to_string(i), channel_scope::global, [&](const push_event&) { ++heard; },
            late);
        ASSERT_TRUE(one) << to_string(one.error());
        all.push_back(std::move(*one));
    }
    EXPECT_EQ(engine_->statistics().total_connections, 1U);
    auto raw = server_->connect();
    for (int i = 0; i < 10'000; ++i) {
        raw.append(words("PUBLISH", "c" + std::to_string(i), "x").view());
    }
    for (int i = 0; i < 10'000; ++i) EXPECT_EQ(raw.next(), reply::integer(1));
    test::wait_for("all messages", [&] { return heard == 10'000; });
}

TEST_F(redis_commands, a_handler_may_end_its_own_subscription) {
    std::unique_ptr<subscription> mine;
    std::atomic<bool> ended = false;
    mine = engine_
               ->subscribe(
                   "c", channel_scope::global,
                   [&](const push_event&) {
                       mine.reset();
                       ended = true;
                   },
                   soon())
               .value();
    server_->raw("PUBLISH", "c", "x");
    test::wait_for("the end", [&] { return ended.load(); });
}

TEST_F(redis_commands, sixty_four_threads_share_one_connection_and_each_gets_its_own_replies) {
    const int rounds = 300;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int id = 0; id < 64; ++id) {
        threads.emplace_back([&, id] {
            const std::string key = "k" + std::to_string(id);
            for (int i = 1; i <= rounds; ++i) {
                const auto n = run(words("INCR", key));
                if (!n || n->number() != i) ++wrong;
                const std::string text = key + ":" + std::to_string(i);
                const auto echo = run(words("ECHO", text));
                if (!echo || echo->text() != text) ++wrong;
            }
        });
    }
    for (auto& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    const auto stats = engine_->statistics();
    EXPECT_EQ(stats.total_connections, 1U);
    EXPECT_EQ(stats.answered, 64U * 2 * rounds);
    EXPECT_LT(stats.batches, stats.answered);
    EXPECT_EQ(stats.in_flight, 0U);
    EXPECT_EQ(stats.queued, 0U);
}

TEST_F(redis_commands, threads_and_submitted_commands_share_the_connection) {
    std::atomic<int> told = 0;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> threads;
    for (int id = 0; id < 8; ++id) {
        threads.emplace_back([&, id] {
            for (int i = 0; i < 500; ++i) {
                const std::string text = std::to_string(id * 1000 + i);
                engine_->submit(words("ECHO", text), soon(), [&, text](result<reply> r) {
                    if (!r || r->text() != text) ++wrong;
                    ++told;
                });
                if (i % 3 == 0) {
                    const auto r = run(words("ECHO", text));
                    if (!r || r->text() != text) ++wrong;
                }
            }
        });
    }
    for (auto& t : threads) t.join();
    test::wait_for("all completions", [&] { return told == 8 * 500; });
    EXPECT_EQ(wrong, 0);
}

TEST_F(redis_commands, several_connections_are_used_when_asked_for) {
    auto wide = open_redis(server_->url() + "?connections=3").value();
    for (int i = 0; i < 6; ++i) EXPECT_TRUE(wide->execute(words("PING"), soon()));
    EXPECT_EQ(wide->statistics().total_connections, 3U);
    EXPECT_EQ(wide->statistics().misses, 3U);
    EXPECT_EQ(wide->statistics().hits, 3U);
}

TEST_F(redis_commands, commands_given_on_connect_come_before_any_other) {
    auto target = parse_redis_url(server_->url()).value();
    target.options.on_connect_commands = {{"SET", "greeted", "yes"}};
    auto polite = make_redis(target).value();
    EXPECT_EQ(polite->execute(words("GET", "greeted"), soon()).value(), reply::string("yes"));

    target.options.on_connect_commands = {{"LPUSH", "greeted", "x"}};
    auto rude = make_redis(target).value();
    const auto refused = rude->execute(words("PING"), soon());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().detail.find("WRONGTYPE"), std::string::npos);
}

// The first fits into what a socket takes, the second does not.
TEST_F(redis_commands, of_those_submitted_together_each_says_whether_it_was_sent) {
    test::redis_server stuck;
    const auto engine = open_redis(stuck.url() + "?connections=1&reply_timeout=60s").value();
    ASSERT_TRUE(engine->execute(words("PING"), soon()));
    stuck.pause();
    const std::string large(std::size_t{64} << 20, 'x');
    const auto first = words("SET", "k", 7);
    const auto second = words("SET", "large", large);
    const std::array<command, 2> both{first, second};
    std::promise<std::vector<result<reply>>> told;
    engine->submit_together(both, soon(), [&](std::span<result<reply>> got) {
        told.set_value({std::make_move_iterator(got.begin()), std::make_move_iterator(got.end())});
    });
    test::wait_for("the first in flight", [&] { return engine->statistics().in_flight == 2; });
    stuck.kill();
    const auto answers = told.get_future().get();
    ASSERT_FALSE(answers[0]);
    EXPECT_EQ(answers[0].error(), errc::outcome_unknown) << answers[0].error().detail;
    ASSERT_FALSE(answers[1]);
    EXPECT_EQ(answers[1].error(), errc::unavailable) << answers[1].error().detail;
}

}  // namespace
}  // namespace holdfast

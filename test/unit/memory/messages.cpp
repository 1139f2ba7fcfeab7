// SPDX-License-Identifier: Apache-2.0
#include "engine_fixture.hpp"

#include <atomic>
#include <thread>

namespace holdfast::memory_test {
namespace {

class messages : public engine_test {
protected:
    std::unique_ptr<subscription> hear(std::string_view channel, push_handler handler) {
        return *engine->subscribe(channel, channel_scope::global, std::move(handler), no_limit);
    }
};

TEST_F(messages, publish_answers_how_many_hear_it_also_from_a_script) {
    std::vector<std::string> heard;
    const auto note = [&](const push_event& e) { heard.emplace_back(e.payload); };
    const auto a = hear("news", note);
    const auto b = hear("news", note);
    EXPECT_EQ(say("PUBLISH", "news", "x"), "(integer) 2");
    EXPECT_EQ(say("PUBLISH", "silence", "x"), "(integer) 0");
    EXPECT_EQ(say("EVAL", "return redis.call('PUBLISH', 'news', 'y')", "0"), "(integer) 2");
    EXPECT_EQ(heard, (std::vector<std::string>{"x", "x", "y", "y"}));
    EXPECT_EQ(say("PUBSUB", "NUMSUB", "news"), R"(["news", (integer) 2])");
    EXPECT_EQ(say("PUBSUB", "CHANNELS", "n*"), R"(["news"])");
}

TEST_F(messages, an_ended_subscription_hears_nothing_more) {
    int heard = 0;
    auto s = hear("news", [&](const push_event&) { ++heard; });
    ask("PUBLISH", "news", "x");
    s.reset();
    EXPECT_EQ(say("PUBLISH", "news", "x"), "(integer) 0");
    EXPECT_EQ(heard, 1);
}

TEST_F(messages, a_handler_may_end_its_own_subscription_and_others) {
    std::unique_ptr<subscription> own;
    std::unique_ptr<subscription> other;
    int heard_other = 0;
    own = hear("news", [&](const push_event&) {
        other.reset();
        own.reset();
    });
    other = hear("news", [&](const push_event&) { ++heard_other; });
    EXPECT_EQ(say("PUBLISH", "news", "x"), "(integer) 2");
    EXPECT_EQ(heard_other, 0);
    EXPECT_EQ(say("PUBSUB", "CHANNELS"), "[]");
}

TEST_F(messages, a_handler_may_publish) {
    std::vector<std::string> heard;
    const auto a = hear("a", [&](const push_event& e) {
        heard.emplace_back(e.payload);
        if (heard.size() < 3) ask("PUBLISH", "a", "again");
    });
    ask("PUBLISH", "a", "first");
    EXPECT_EQ(heard, (std::vector<std::string>{"first", "again", "again"}));
}

TEST_F(messages, ending_a_subscription_waits_for_its_running_handler) {
    std::atomic<bool> inside = false;
    std::atomic<bool> unblock = false;
    std::atomic<bool> left = false;
    auto s = hear("news", [&](const push_event&) {
        inside = true;
        while (!unblock) std::this_thread::yield();
        left = true;
    });
    std::thread publisher([&] { ask("PUBLISH", "news", "x"); });
    while (!inside) std::this_thread::yield();
    std::thread releaser([&] { unblock = true; });
    s.reset();
    EXPECT_TRUE(left);
    publisher.join();
    releaser.join();
}

TEST_F(messages, each_hears_the_messages_of_many_publishers_once_and_in_one_order) {
    std::vector<std::string> a;
    std::vector<std::string> b;
    const auto first = hear("c", [&](const push_event& e) { a.emplace_back(e.payload); });
    const auto second = hear("c", [&](const push_event& e) { b.emplace_back(e.payload); });
    std::vector<std::thread> publishers;
    for (int t = 0; t < 4; ++t) {
        publishers.emplace_back([&, t] {
            for (int i = 0; i < 500; ++i) {
                ask("PUBLISH", "c", std::to_string(t) + ":" + std::to_string(i));
            }
        });
    }
    for (auto& p : publishers) p.join();
    EXPECT_EQ(a.size(), 2000U);
    EXPECT_EQ(a, b);
}

TEST_F(messages, subscriptions_and_sessions_may_outlive_the_engine) {
    auto s = hear("news", [](const push_event&) {});
    auto session = *engine->open_session("", no_limit);
    engine.reset();
    EXPECT_TRUE(session->execute(words("PUBLISH", "news", "x"), no_limit));
}

}  // namespace
}  // namespace holdfast::memory_test

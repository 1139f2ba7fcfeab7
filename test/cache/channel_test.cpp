// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_ground.hpp"

#include "cache/channel_queue.hpp"

#include <holdfast/channel.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gmock/gmock.h>

#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class channel_test : public cache_test {
protected:
    void SetUp() override {
        if (!ground_->has_messages()) GTEST_SKIP() << "allowed: it has no channels";
    }
    channel<std::string> open(bool reliable, std::size_t keep = 1000, bool sharded = true) {
        return channel<std::string>(where(), "news",
                                    {.prefix = ground_->prefix(),
                                     .reliable = reliable,
                                     .keep = keep,
                                     .sharded = sharded,
                                     .timeout = 10s});
    }
    // In virtual time a message is there at once, or never.
    [[nodiscard]] static duration patience() { return virtual_time() ? duration(0) : 10s; }
    static std::string heard(subscriber<std::string>& reader) {
        const auto seen = reader.next(patience());
        if (!seen) return "error: " + seen.error().detail;
        if (!*seen) return "nothing";
        std::string text = (*seen)->value;
        if ((*seen)->lost > 0) text += " lost " + std::to_string((*seen)->lost);
        if ((*seen)->gap) text += " gap";
        return text;
    }
};

INSTANTIATE_TEST_SUITE_P(engines, channel_test, testing::ValuesIn(cache_engines()), engine_name);

TEST_P(channel_test, a_live_message_reaches_all_who_listen) {
    for (const bool sharded : {true, false}) {
        auto news = open(false, 1000, sharded);
        auto one = news.subscribe().value();
        auto two = news.subscribe().value();
        for (const char* text : {"a", "b"}) {
            const auto sent = news.publish(text).value();
            EXPECT_EQ(sent.offset, "");
        }
        for (auto* reader : {&one, &two}) {
            EXPECT_EQ(heard(*reader), "a");
            EXPECT_EQ(heard(*reader), "b");
            EXPECT_FALSE(reader->next(0s).value());
        }
    }
}

TEST_P(channel_test, a_reliable_subscriber_goes_on_behind_its_offset) {
    auto news = open(true);
    std::string offset;
    {
        auto reader = news.subscribe().value();
        ASSERT_TRUE(news.publish("1"));
        ASSERT_TRUE(news.publish("2"));
        EXPECT_EQ(heard(reader), "1");
        const auto second = reader.next(patience()).value().value();
        EXPECT_EQ(second.value, "2");
        offset = second.offset;
    }
    for (int i = 3; i <= 250; ++i) ASSERT_TRUE(news.publish(std::to_string(i)));
    auto again = news.subscribe({.after = offset}).value();
    for (int i = 3; i <= 250; ++i) ASSERT_EQ(heard(again), std::to_string(i));
    EXPECT_FALSE(again.next(0s).value());
    auto all = news.subscribe({.after = "0"}).value();
    EXPECT_EQ(heard(all), "1");
    auto later = news.subscribe().value();
    EXPECT_FALSE(later.next(0s).value());
    ASSERT_TRUE(news.publish("251"));
    EXPECT_EQ(heard(later), "251");
    EXPECT_EQ(heard(again), "251");
    EXPECT_EQ(news.subscribe({.after = "yesterday"}).error(), errc::invalid_argument);
    EXPECT_GT(raw("PTTL", ground_->prefix() + "{news}:4:channel_stream").number(), 0);
}

TEST_P(channel_test, what_was_dropped_from_a_stream_is_told) {
    auto news = open(true, 3);
    auto reader = news.subscribe().value();
    ASSERT_TRUE(news.publish("0"));
    EXPECT_EQ(heard(reader), "0");
    for (int i = 1; i <= 10; ++i) ASSERT_TRUE(news.publish(std::to_string(i)));
    EXPECT_EQ(heard(reader), "8 lost 7");
    EXPECT_EQ(heard(reader), "9");
    EXPECT_EQ(heard(reader), "10");
    // A stream that a server lost begins anew.
    raw("DEL", ground_->prefix() + "{news}:4:channel_stream");
    ground_->pass(2ms);
    ASSERT_TRUE(news.publish("11"));
    EXPECT_EQ(heard(reader), "11 gap");
}

TEST_P(channel_test, a_stream_that_began_before_the_readers_position_is_read_from_its_start) {
    auto news = open(true);
    ASSERT_TRUE(news.publish("x"));
    auto reader = news.subscribe({.after = "99999999999999-5"}).value();
    EXPECT_EQ(heard(reader), "x gap");
}

TEST_P(channel_test, a_waiting_subscriber_is_woken_and_can_be_cancelled) {
    if (virtual_time()) GTEST_SKIP() << "allowed: needs time that passes";
    for (const bool reliable : {false, true}) {
        auto news = open(reliable);
        auto reader = news.subscribe().value();
        {
            const std::jthread sender([&] { EXPECT_TRUE(news.publish("late")); });
            EXPECT_EQ(heard(reader), "late");
        }
        std::stop_source stop;
        const std::jthread canceller([&] { stop.request_stop(); });
        EXPECT_EQ(reader.next(1h, stop.get_token()).error(), errc::cancelled);
    }
}

TEST_P(channel_test, refuses_what_cannot_be) {
    EXPECT_EQ(open(false).subscribe({.after = "0"}).error(), errc::invalid_argument);
    EXPECT_EQ(open(true, 0).publish("a").error(), errc::invalid_argument);
    EXPECT_EQ(open(false).subscribe({.queue = 0}).error(), errc::invalid_argument);
    EXPECT_EQ(open(false).publish(std::string(2 << 20, 'x')).error(), errc::invalid_argument);
}

class channel_queue_test : public testing::Test {
protected:
    std::string pop(detail::channel_queue& queue) {
        const auto seen = queue.pop(time_, time_.now(), {});
        if (!seen) return std::string(to_string(seen.error().code));
        if (!*seen) return "nothing";
        return (*seen)->bytes + std::to_string((*seen)->lost) + ((*seen)->gap ? "!" : "");
    }
    virtual_clock time_;
};

TEST_F(channel_queue_test, the_oldest_goes_and_the_next_tells_how_many) {
    detail::channel_queue queue({.queue = 2});
    queue.gap();
    for (const char* text : {"a", "b", "c", "d"}) queue.push(text);
    EXPECT_EQ(pop(queue), "c2!");
    queue.push("e");
    queue.push("f");
    EXPECT_EQ(pop(queue), "e1");
    EXPECT_EQ(pop(queue), "f0");
    EXPECT_EQ(pop(queue), "nothing");
}

TEST_F(channel_queue_test, the_newest_goes_and_a_later_one_tells_how_many) {
    detail::channel_queue queue({.queue = 2, .slow = slow_policy::drop_newest});
    for (const char* text : {"a", "b", "c", "d"}) queue.push(text);
    EXPECT_EQ(pop(queue), "a0");
    queue.push("e");
    EXPECT_EQ(pop(queue), "b0");
    EXPECT_EQ(pop(queue), "e2");
}

TEST_F(channel_queue_test, the_subscription_ends_behind_what_it_has) {
    detail::channel_queue queue({.queue = 2, .slow = slow_policy::end});
    for (const char* text : {"a", "b", "c", "d"}) queue.push(text);
    EXPECT_EQ(pop(queue), "a0");
    EXPECT_EQ(pop(queue), "b0");
    EXPECT_EQ(pop(queue), "busy");
}

TEST_F(channel_queue_test, bytes_count_too) {
    detail::channel_queue queue({.queue_bytes = 10});
    queue.push("12345");
    queue.push("67890");
    queue.push("x");
    EXPECT_EQ(pop(queue), "678901");
    queue.push(std::string(11, 'y'));
    queue.push("z");
    EXPECT_EQ(pop(queue), "z2");
}

}  // namespace
}  // namespace holdfast::test

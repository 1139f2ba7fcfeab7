// SPDX-License-Identifier: Apache-2.0
//
// Who listens to a server beside lock waiters, on the connection that they share.
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_other_listener : public testing::Test {
protected:
    /// "job" goes from one client to the other, whose thread waits for it alone.
    lease handed_off() {
        auto held = one.mutex("job").acquire(brief).value();
        auto waiter =
            std::async(std::launch::async, [&] { return two.mutex("job").acquire(brief).value(); });
        test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == 1; });
        EXPECT_TRUE(std::move(held).release());
        return waiter.get();
    }

    const acquire_options brief{.ttl = 10s, .wait = 20s};
    test::redis_server server;
    client one = open(server.url()).value();
    client two = open(server.url()).value();
};

// A waiter reads for itself if it was alone a few times, and leaves the reading to nobody: the next
// one will come soon. Nobody else may have to wait for that.
TEST_F(redis_other_listener, hears_at_once_although_lock_waiters_come_and_go) {
    command_engine& engine = *two.commands();
    std::promise<time_point> heard;
    const auto ears = engine.subscribe(
        "news", channel_scope::global,
        [&](const push_event& event) {
            if (event.type == push_event::kind::message) heard.set_value(engine.time().now());
        },
        engine.time().now() + 5s);
    ASSERT_TRUE(ears);
    std::vector<duration> delays;
    for (int i = 0; i < 25; ++i) {
        auto held = handed_off();
        heard = {};
        auto told = heard.get_future();
        const time_point sent = engine.time().now();
        ASSERT_EQ(server.raw("PUBLISH", "news", "x"), reply::integer(1));
        ASSERT_EQ(told.wait_for(10s), std::future_status::ready);
        delays.push_back(told.get() - sent);
        ASSERT_TRUE(std::move(held).release());
    }
    std::ranges::sort(delays);
    EXPECT_LT(delays[delays.size() * 4 / 5], 50ms) << "a fifth of them are later than that";
}

TEST_F(redis_other_listener, that_comes_while_a_waiter_reads_is_heard_and_the_waiter_too) {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(handed_off().release());
    auto held = one.mutex("job").acquire(brief).value();
    auto waiter =
        std::async(std::launch::async, [&] { return two.mutex("job").acquire(brief).value(); });
    test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == 1; });
    command_engine& engine = *two.commands();
    std::promise<void> heard;
    const auto ears = engine.subscribe(
        "news", channel_scope::global,
        [&](const push_event& event) {
            if (event.type == push_event::kind::message) heard.set_value();
        },
        engine.time().now() + 5s);
    ASSERT_TRUE(ears);
    ASSERT_EQ(server.raw("PUBLISH", "news", "x"), reply::integer(1));
    EXPECT_EQ(heard.get_future().wait_for(10s), std::future_status::ready);
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(waiter.get().held());
    EXPECT_EQ(two.statistics().handed_off, 6U);
}

}  // namespace
}  // namespace holdfast

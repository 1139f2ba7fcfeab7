// SPDX-License-Identifier: Apache-2.0
//
// A request that a stalled connection holds back, and that was asked for again on another one: it
// must not be carried out later, when what it asked for was given back.
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/redis/redis.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_late_write : public testing::Test {
protected:
    std::string by_proxy() {
        return fmt::format("redis://127.0.0.1:{}?reply_timeout=200ms", proxy.port());
    }
    void let_go_on() {
        proxy.pass();
        test::wait_for("the end of all connections", [&] { return proxy.open() == 0; });
    }

    test::redis_server server;
    test::fault_proxy proxy{server.port()};
};

TEST_F(redis_late_write, takes_no_name_after_it_was_given_back) {
    {
        auto stalled = open(by_proxy(), {.request_timeout = 2s}).value();
        ASSERT_TRUE(stalled.mutex("warm").try_acquire().value().release());
        proxy.stall_requests();
        auto held = stalled.mutex("job").try_acquire({.ttl = 20s});
        ASSERT_TRUE(held) << to_string(held.error());
        ASSERT_TRUE(std::move(*held).release());
        stalled.close();
    }
    let_go_on();
    EXPECT_EQ(server.raw("EXISTS", "lock:job"), reply::integer(0));
}

TEST_F(redis_late_write, is_not_carried_out_once_a_later_command_was) {
    const auto engine = open_redis(by_proxy()).value();
    const auto soon = [&] { return engine->time().now() + 2s; };
    ASSERT_TRUE(engine->execute(words("SET", "k", "0"), soon()));
    proxy.stall_requests();
    const auto given_up = engine->execute(words("INCR", "k"), soon());
    EXPECT_EQ(given_up.error(), errc::outcome_unknown);
    EXPECT_EQ(engine->execute(words("GET", "k"), soon())->text(), "0");
    proxy.pass();
    test::wait_for("the first connection's end", [&] { return proxy.open() == 1; });
    EXPECT_EQ(server.raw("GET", "k").text(), "0");
}

// As docs/reference/limits.md says. It also shows that what is held back does arrive.
TEST_F(redis_late_write, may_be_carried_out_later_where_clients_may_not_end_connections) {
    server.raw("ACL", "SETUSER", "app", "on", ">secret", "~*", "&*", "+@all", "-client");
    const auto engine =
        open_redis(fmt::format("redis://app:secret@127.0.0.1:{}?reply_timeout=200ms", proxy.port()))
            .value();
    const auto soon = [&] { return engine->time().now() + 2s; };
    ASSERT_TRUE(engine->execute(words("SET", "k", "0"), soon()));
    proxy.stall_requests();
    EXPECT_EQ(engine->execute(words("INCR", "k"), soon()).error(), errc::outcome_unknown);
    EXPECT_EQ(engine->execute(words("GET", "k"), soon())->text(), "0");
    proxy.pass();
    test::wait_for("the first connection's end", [&] { return proxy.open() == 1; });
    EXPECT_EQ(server.raw("GET", "k").text(), "1");
}

}  // namespace
}  // namespace holdfast

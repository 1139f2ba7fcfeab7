// SPDX-License-Identifier: Apache-2.0
//
// Servers that are there and cannot serve: one that is loading its data, and one that does not read
// what is sent to it.
#include <holdfast/redis/redis.hpp>

#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <future>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::wait_for;

time_point in(duration d) {
    return system_clock().now() + d;
}

/// A server with a thousand keys that takes a millisecond to load each, until it is let go.
class redis_loading : public testing::Test {
protected:
    redis_loading() {
        for (int i = 0; i < 1000; ++i) server_.raw("SET", i, std::string(100, 'x'));
    }
    ~redis_loading() override { finish(); }

    void start() {
        server_.raw("CONFIG", "SET", "key-load-delay", 20'000);
        reload_ = std::async(std::launch::async, [c = server_.connect()]() mutable {
            return c.ask("DEBUG", "RELOAD");
        });
        wait_for("LOADING", [&] { return server_.raw("PING").text().starts_with("LOADING"); });
    }
    void finish() {
        if (!reload_.valid()) return;
        server_.raw("CONFIG", "SET", "key-load-delay", 0);
        EXPECT_EQ(reload_.get(), reply::status("OK"));
    }

    test::redis_server server_{{.arguments = {"--enable-debug-command", "yes",
                                              "--loading-process-events-interval-bytes", "1024"}}};
    std::future<reply> reload_;
};

TEST_F(redis_loading, a_server_that_loads_at_connect_is_unavailable_and_found_again_afterwards) {
    start();
    auto engine = open_redis(server_.url()).value();
    const auto r = engine->execute(words("SET", "k", "v"), in(5s));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::unavailable) << to_string(r.error());
    EXPECT_NE(r.error().detail.find("LOADING"), std::string::npos) << r.error().detail;
    EXPECT_GE(engine->statistics().connect_failures, 1U);
    finish();
    wait_for("recovery",
             [&] { return engine->execute(words("SET", "k", "v"), in(1s)).has_value(); });
}

TEST_F(redis_loading, a_server_that_loads_under_an_open_connection_says_so_in_its_reply) {
    auto engine = open_redis(server_.url()).value();
    ASSERT_TRUE(engine->execute(words("PING"), in(5s)));
    start();
    const auto r = engine->execute(words("SET", "k", "v"), in(5s));
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error(), errc::unavailable) << to_string(r.error());
    finish();
    EXPECT_TRUE(engine->execute(words("SET", "k", "v"), in(5s)));
}

/// More than the buffers of both ends of a loopback connection hold.
constexpr std::size_t more_than_buffers = std::size_t{64} << 20;

TEST(redis_writing,
     a_command_that_cannot_be_written_ends_by_its_deadline_and_harms_nobody_for_good) {
    test::redis_server server;
    auto engine = open_redis(server.url() + "?reply_timeout=300ms&connect_timeout=300ms").value();
    ASSERT_TRUE(engine->execute(words("PING"), in(5s)));
    const std::string big(more_than_buffers, 'x');
    server.pause();
    auto behind = std::async(std::launch::async, [&] {
        wait_for("the large command in flight", [&] { return engine->statistics().in_flight > 0; });
        return engine->execute(words("INCR", "n"), in(500ms));
    });
    const auto r = engine->execute(words("SET", "big", big), in(500ms));
    ASSERT_FALSE(r) << "by its own deadline: the server does not return before";
    // A part is on its way, and the server may yet read the rest: nobody can know.
    EXPECT_EQ(r.error(), errc::outcome_unknown) << to_string(r.error());
    const auto other = behind.get();
    ASSERT_FALSE(other);
    server.resume();
    wait_for("recovery", [&] { return engine->execute(words("PING"), in(1s)).has_value(); });
    const auto count = engine->execute(words("INCR", "n"), in(5s));
    ASSERT_TRUE(count);
    if (other.error() != errc::outcome_unknown) {
        EXPECT_EQ(count->number(), 1);
    }
}

TEST(redis_writing, a_connection_of_ones_own_that_cannot_write_ends_by_its_deadline_too) {
    test::redis_server server;
    auto engine = open_redis(server.url()).value();
    auto session = engine->open_session("", in(5s)).value();
    ASSERT_TRUE(session->execute(words("PING"), in(5s)));
    const std::string big(more_than_buffers, 'x');
    server.pause();
    const auto r = session->execute(words("SET", "big", big), in(300ms));
    ASSERT_FALSE(r);
    // The connection is closed with the command half sent: it cannot have been carried out.
    EXPECT_EQ(r.error(), errc::timed_out) << to_string(r.error());
    server.resume();
    EXPECT_EQ(server.raw("EXISTS", "big"), reply::integer(0));
    EXPECT_EQ(session->execute(words("PING"), in(1s)).error(), errc::unavailable);
}

}  // namespace
}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
//
// Commands as Asio operations.
#include <holdfast/asio.hpp>
#include <holdfast/redis.hpp>

#include "support/redis_server.hpp"

#include <gtest/gtest.h>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <thread>

namespace holdfast {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

time_point soon() {
    return system_clock().now() + 5s;
}

TEST(redis_asio, coroutines_on_one_thread_share_the_connection_and_stay_on_their_thread) {
    test::redis_server server;
    auto engine = open_redis(server.url()).value();
    asio::io_context context;
    int finished = 0;
    int wrong = 0;
    const auto me = std::this_thread::get_id();
    const auto task = [&](int id) -> asio::awaitable<void> {
        for (int i = 1; i <= 100; ++i) {
            const auto incr = words("INCR", id);
            const auto r = co_await async_execute(*engine, incr, soon(), asio::use_awaitable);
            if (!r || r->number() != i) ++wrong;
            if (std::this_thread::get_id() != me) ++wrong;
        }
        ++finished;
    };
    for (int id = 0; id < 64; ++id) asio::co_spawn(context, task(id), asio::detached);
    context.run();
    EXPECT_EQ(finished, 64);
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(engine->statistics().total_connections, 1U);
}

TEST(redis_asio, an_error_reply_is_an_error_with_its_code) {
    test::redis_server server;
    auto engine = open_redis(server.url()).value();
    asio::io_context context;
    bool told = false;
    server.raw("SET", "k", "text");
    async_execute(*engine, words("LPUSH", "k", "x"), soon(),
                  asio::bind_executor(context, [&](result<reply> r) {
                      told = true;
                      EXPECT_EQ(r.error(), errc::corrupt);
                  }));
    context.run();
    EXPECT_TRUE(told);
}

}  // namespace
}  // namespace holdfast

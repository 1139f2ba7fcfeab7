// SPDX-License-Identifier: Apache-2.0
//
// Commands as Asio operations.
#include <holdfast/asio.hpp>
#include <holdfast/redis/redis.hpp>

#include "support/redis_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

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

// Replies that come together.
struct batch_of_replies : testing::Test {
    template <class Executor>
    void ask(const Executor& where, int count, const std::function<void(int)>& answered) {
        for (int i = 0; i < count; ++i) {
            async_execute(*engine, words("ECHO", i), soon(),
                          asio::bind_executor(where, [=](result<reply> r) {
                              answered(r ? std::stoi(r->text()) : -1);
                          }));
        }
    }

    test::redis_server server;
    std::unique_ptr<redis_engine> engine = open_redis(server.url()).value();
};

TEST_F(batch_of_replies, what_was_asked_in_a_handler_is_not_left_behind) {
    asio::io_context context;
    int answers = 0;
    ask(context.get_executor(), 10, [&](int i) {
        ++answers;
        if (i % 3 == 0) ask(context.get_executor(), 2, [&](int) { ++answers; });
    });
    context.run();
    EXPECT_EQ(answers, 10 + 8);
}

TEST_F(batch_of_replies, its_handlers_run_at_once_on_the_threads_of_a_pool) {
    asio::thread_pool pool(3);
    std::latch all_here(3);
    ask(pool.get_executor(), 3, [&](int) { all_here.arrive_and_wait(); });
    pool.join();
}

TEST_F(batch_of_replies, a_handler_that_throws_takes_no_other_with_it) {
    asio::io_context context;
    std::vector<int> heard;
    ask(context.get_executor(), 4, [&](int i) {
        heard.push_back(i);
        if (i == 1) throw std::runtime_error("mine");
    });
    EXPECT_THROW(context.run(), std::runtime_error);
    context.run();
    EXPECT_EQ(heard, (std::vector{0, 1, 2, 3}));
}

TEST_F(batch_of_replies, a_handler_on_a_pool_may_wait_for_what_it_asks) {
    asio::thread_pool pool(2);
    std::atomic<int> waited = 0;
    ask(pool.get_executor(), 4, [&](int) {
        auto answer = async_execute(*engine, words("PING"), soon(), asio::use_future);
        if (answer.get()) ++waited;
    });
    pool.join();
    EXPECT_EQ(waited, 4);
}

}  // namespace
}  // namespace holdfast

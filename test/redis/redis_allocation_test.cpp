// SPDX-License-Identifier: Apache-2.0
//
// The steady way of a command through the sync face allocates nothing: counted, by replacing
// operator new in this program.
#include <holdfast/redis/redis.hpp>

#include "support/allocation_count.hpp"
#include "support/redis_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

void work(redis_engine& engine, const std::string& key, int times, int& wrong) {
    for (int i = 0; i < times; ++i) {
        const time_point give_up = engine.time().now() + 5s;
        const auto set = engine.execute(words("SET", key, "owner", "PX", 30000), give_up);
        const auto get = engine.execute(words("GET", key), give_up);
        const auto ttl = engine.execute(words("PTTL", key), give_up);
        if (!set || !get || get->text() != "owner" || !ttl || ttl->number() <= 0) ++wrong;
    }
}

TEST(redis_allocation, a_lone_caller_allocates_nothing_per_command) {
    test::redis_server server;
    auto engine = open_redis(server.url()).value();
    int wrong = 0;
    work(*engine, "k", 100, wrong);
    const long before = test::allocations();
    work(*engine, "k", 1000, wrong);
    EXPECT_EQ(test::allocations() - before, 0);
    EXPECT_EQ(wrong, 0);
}

TEST(redis_allocation, many_callers_allocate_nothing_per_command) {
    test::redis_server server;
    auto engine = open_redis(server.url()).value();
    constexpr int count = 32;
    std::atomic<int> ready = 0;
    std::atomic<int> finished = 0;
    std::atomic<bool> go = false;
    std::atomic<bool> leave = false;
    std::vector<int> wrong(count);
    std::vector<std::thread> threads;
    for (int id = 0; id < count; ++id) {
        threads.emplace_back([&, id] {
            const std::string key = "k" + std::to_string(id);
            work(*engine, key, 200, wrong[static_cast<std::size_t>(id)]);
            ++ready;
            go.wait(false);
            work(*engine, key, 300, wrong[static_cast<std::size_t>(id)]);
            ++finished;
            leave.wait(false);
        });
    }
    while (ready < count) std::this_thread::yield();
    const long before = test::allocations();
    go = true;
    go.notify_all();
    while (finished < count) std::this_thread::yield();
    // Buffers that grow with the largest batch so far are allowed; 28,800 commands went by.
    EXPECT_LE(test::allocations() - before, 16);
    leave = true;
    leave.notify_all();
    for (auto& t : threads) t.join();
    for (const int w : wrong) EXPECT_EQ(w, 0);
}

}  // namespace
}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
//
// What people use a distributed lock for, with a real server and a network that fails. (The first,
// a thousand buyers of too few things, is in redis_lease_test.cpp.)
#include "support/fault_proxy.hpp"
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/redis/redis.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr duration ttl = 2s;

/// A process of a user's, behind a network of its own.
struct site {
    explicit site(test::redis_server& server)
        : network(server.port()),
          locks(open("redis://127.0.0.1:" + std::to_string(network.port()) +
                     "?reply_timeout=500ms&connect_timeout=500ms")
                    .value()) {}

    test::fault_proxy network;
    client locks;
};

class scenario : public testing::Test {
protected:
    test::redis_server server;
    site here{server};
    site there{server};
    // The resource, which everybody reaches.
    std::unique_ptr<redis_engine> store = open_redis(server.url()).value();

    bool write(std::string_view key, std::string_view value, fencing_token fence) {
        return guarded_set(*store, key, value, fence, store->time().now() + 5s).value().written;
    }
};

// Two schedulers see the same task. The one that got it is cut off in the middle, and its write
// arrives when the other has done the work: one execution counts.
TEST_F(scenario, a_task_is_executed_once_although_its_executor_was_cut_off) {
    auto first = here.locks.mutex("task/7").acquire({.ttl = ttl, .wait = 5s}).value();
    here.network.black_hole();
    auto second = there.locks.mutex("task/7").acquire({.ttl = ttl, .wait = 30s}).value();
    EXPECT_FALSE(first.held()) << "told before the other could have it";
    EXPECT_TRUE(first.lost().stop_requested());
    EXPECT_TRUE(write("task/7/result", "by the second", second.fence()));
    EXPECT_FALSE(write("task/7/result", "by the first, late", first.fence()));
    EXPECT_EQ(server.raw("GET", "task/7/result").text(), "by the second");
    here.network.pass();
    EXPECT_EQ(std::move(first).release().error(), errc::lease_lost);
    EXPECT_TRUE(second.held()) << "the late release ended nobody's lease";
    EXPECT_TRUE(std::move(second).release());
}

// A hot value is gone from the cache and everybody wants it: one loads, the others find it.
TEST_F(scenario, one_loads_what_all_miss) {
    std::atomic<int> loads = 0;
    std::atomic<int> served = 0;
    std::vector<std::jthread> readers;
    for (int i = 0; i < 40; ++i) {
        readers.emplace_back([&, i] {
            client& locks = i % 2 == 0 ? here.locks : there.locks;
            const auto cached = [&] {
                return store->execute(words("GET", "page"), store->time().now() + 5s).value();
            };
            if (cached().is_nil()) {
                auto turn = locks.mutex("load/page").acquire({.ttl = 10s, .wait = 60s}).value();
                if (cached().is_nil()) {
                    ++loads;
                    EXPECT_TRUE(write("page", "contents", turn.fence()));
                }
            }
            if (cached().text() == "contents") ++served;
        });
    }
    readers.clear();
    EXPECT_EQ(loads, 1);
    EXPECT_EQ(served, 40);
}

// The holder's connection is gone and does not come back: others go on within the ttl.
TEST_F(scenario, others_go_on_within_the_ttl_when_a_holders_connection_is_dropped) {
    const auto held = here.locks.mutex("job").acquire({.ttl = ttl, .wait = 5s}).value();
    const time_point dropped = system_clock().now();
    here.network.refuse();
    auto next = there.locks.mutex("job").acquire({.ttl = ttl, .wait = 30s}).value();
    EXPECT_LT(system_clock().now() - dropped, ttl + 1500ms);
    EXPECT_FALSE(held.held());
    EXPECT_GT(next.fence(), held.fence());
}

// It comes back soon: nothing is lost.
TEST_F(scenario, a_holder_whose_connection_is_dropped_for_a_moment_keeps_what_it_has) {
    auto held = here.locks.mutex("job").acquire({.ttl = ttl, .wait = 5s}).value();
    here.network.reset();
    test::wait_for("a renewal that fails",
                   [&] { return here.locks.statistics().renewal_failures > 0; });
    here.network.pass();
    const auto renewed = here.locks.statistics().renewed;
    test::wait_for("renewals again", [&] { return here.locks.statistics().renewed > renewed; });
    EXPECT_TRUE(held.held());
    EXPECT_EQ(there.locks.mutex("job").try_acquire({.ttl = ttl}).error(), errc::busy);
    EXPECT_TRUE(std::move(held).release());
}

}  // namespace
}  // namespace holdfast

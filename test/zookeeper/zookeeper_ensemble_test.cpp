// SPDX-License-Identifier: Apache-2.0
//
// Three servers: one that is killed, stopped, or the leader; a majority that is gone.
#include "zookeeper/zookeeper_ground.hpp"

#include <fmt/format.h>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

TEST(zookeeper_three, a_lease_and_its_queue_outlive_their_leader) {
    const std::size_t leader = shared_zookeeper().leader();
    zookeeper_store one;
    zookeeper_store two;
    const lock_name job = name_of("outlives");
    const owner_token a = new_owner();
    const owner_token b = new_owner();
    const ask::acquire stand{job, b, {}, 30s, ask::when_busy::join_queue, {}, 0};
    const auto held = one.acquire(job, a);
    ASSERT_TRUE(is_granted(held));
    ASSERT_TRUE(is_busy(two.send(stand)));
    shared_zookeeper().kill(leader);
    ASSERT_TRUE(is_renewed(one.again(ask::renew{job, a, {}, 30s})));
    ASSERT_TRUE(is_busy(two.again(stand)));
    one.again(ask::release{job, a, {}});
    wait_for("the next holder", [&] { return is_granted(two.again(stand)); }, 30s);
    EXPECT_GT(fence_of(two.again(stand)), fence_of(held)) << "also past an election";
    shared_zookeeper().start(leader);
    shared_zookeeper().wait_until_serving();
    two.again(ask::release{job, b, {}});
}

TEST(zookeeper_three, without_a_majority_nothing_is_granted_and_nothing_is_lost) {
    const std::size_t leader = shared_zookeeper().leader();
    zookeeper_store store;
    const lock_name job = name_of("majority");
    const owner_token a = new_owner();
    const auto held = store.acquire(job, a);
    ASSERT_TRUE(is_granted(held));
    shared_zookeeper().kill((leader + 1) % 3);
    shared_zookeeper().kill((leader + 2) % 3);
    const auto refused = store.send(
        ask::acquire{name_of("minority"), new_owner(), {}, 5s, ask::when_busy::refuse, {}, 0},
        500ms);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error() == errc::unavailable || refused.error() == errc::outcome_unknown)
        << refused.error().detail;
    shared_zookeeper().start((leader + 1) % 3);
    shared_zookeeper().start((leader + 2) % 3);
    shared_zookeeper().wait_until_serving();
    const auto same = store.again(ask::acquire{job, a, {}, 30s, ask::when_busy::refuse, {}, 0});
    ASSERT_TRUE(is_granted(same)) << "its session is younger than the outage";
    EXPECT_EQ(fence_of(same), fence_of(held));
    store.again(ask::release{job, a, {}});
}

// Each worker enters only with the lease, and leaves before its lease ends by its own clock.
TEST(zookeeper_three, one_at_a_time_and_fences_that_grow_while_leaders_die) {
    std::atomic<int> inside = 0;
    std::atomic<int> entered = 0;
    std::atomic<std::uint64_t> latest = 0;
    std::atomic<bool> stop = false;
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < 3; ++i) {
        workers.emplace_back([&] {
            auto hf = holdfast::open(shared_zookeeper().url()).value();
            while (!stop) {
                auto held = hf.mutex("contended").acquire({.ttl = 3s, .wait = 10s});
                if (!held) continue;
                EXPECT_EQ(++inside, 1);
                EXPECT_GT(held->fence().value, latest.exchange(held->fence().value));
                ++entered;
                --inside;
                static_cast<void>(std::move(*held).release());
            }
        });
    }
    const auto more = [&](int count) {
        const int before = entered;
        wait_for("progress", [&] { return entered >= before + count; }, 60s);
    };
    more(20);
    const std::size_t first = shared_zookeeper().leader();
    shared_zookeeper().kill(first);
    more(20);
    shared_zookeeper().start(first);
    shared_zookeeper().wait_until_serving();
    const std::size_t silent = (shared_zookeeper().leader() + 1) % 3;
    shared_zookeeper().pause(silent);
    more(20);
    shared_zookeeper().resume(silent);
    more(20);
    stop = true;
    workers.clear();
    shared_zookeeper().wait_until_serving();
}

}  // namespace
}  // namespace holdfast::test

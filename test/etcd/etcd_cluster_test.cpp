// SPDX-License-Identifier: Apache-2.0
//
// Three servers: one that is killed, stopped, or the leader; a majority that is gone.
#include "etcd/etcd_ground.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

class etcd_three : public testing::Test {
protected:
    static etcd_cluster& servers() {
        static etcd_cluster shared({.members = 3});
        return shared;
    }
    static etcd::etcd_options starting_at(std::size_t first) {
        etcd::etcd_options options;
        for (std::size_t i = 0; i < 3; ++i) {
            options.servers.push_back({"127.0.0.1", servers().port((first + i) % 3)});
        }
        return options;
    }
};

TEST_F(etcd_three, a_lease_and_its_queue_outlive_their_leader) {
    const std::size_t leader = servers().leader();
    etcd_store one(starting_at(leader));
    etcd_store two(starting_at(leader));
    const lock_name job = name_of("outlives");
    const owner_token a = new_owner();
    const owner_token b = new_owner();
    const auto held = one.acquire(job, a);
    ASSERT_TRUE(is_granted(held));
    ASSERT_TRUE(is_busy(two.acquire(job, b, ask::when_busy::join_queue)));
    servers().kill(leader);
    ASSERT_TRUE(is_renewed(one.again(ask::renew{job, a, {}, 30s})));
    ASSERT_TRUE(
        is_busy(two.again(ask::acquire{job, b, {}, 30s, ask::when_busy::join_queue, {}, 0})));
    one.again(ask::release{job, a, {}});
    const auto next = [&] {
        return two.again(ask::acquire{job, b, {}, 30s, ask::when_busy::join_queue, {}, 0});
    };
    wait_for("the next holder", [&] { return is_granted(next()); });
    EXPECT_GT(fence_of(next()), fence_of(held));
    servers().start(leader);
    servers().wait_until_healthy();
    two.again(ask::release{job, b, {}});
}

TEST_F(etcd_three, a_server_that_is_silent_is_left_for_another) {
    const std::size_t leader = servers().leader();
    const std::size_t silent = (leader + 1) % 3;
    etcd_store store(starting_at(silent));
    const lock_name job = name_of("silent");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(store.acquire(job, a)));
    servers().pause(silent);
    EXPECT_TRUE(is_renewed(store.again(ask::renew{job, a, {}, 30s})));
    EXPECT_TRUE(store.release(job, a)) << "the others are known to answer now";
    servers().resume(silent);
    servers().wait_until_healthy();
}

TEST_F(etcd_three, without_a_majority_nothing_is_granted_and_nothing_is_lost) {
    const std::size_t leader = servers().leader();
    etcd_store store(starting_at(leader));
    const lock_name job = name_of("majority");
    const owner_token a = new_owner();
    const auto held = store.acquire(job, a);
    ASSERT_TRUE(is_granted(held));
    servers().kill((leader + 1) % 3);
    servers().kill((leader + 2) % 3);
    const auto refused = store.send(
        ask::acquire{name_of("minority"), new_owner(), {}, 5s, ask::when_busy::refuse, {}, 0}, 1s);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error() == errc::unavailable || refused.error() == errc::outcome_unknown)
        << refused.error().detail;
    servers().start((leader + 1) % 3);
    servers().start((leader + 2) % 3);
    servers().wait_until_healthy();
    const auto same = store.again(ask::acquire{job, a, {}, 30s, ask::when_busy::refuse, {}, 0});
    ASSERT_TRUE(is_granted(same)) << "its lease is younger than the outage";
    EXPECT_EQ(fence_of(same), fence_of(held));
    store.again(ask::release{job, a, {}});
}

// Each worker enters only with the lease, and leaves before its lease ends by its own clock.
TEST_F(etcd_three, one_at_a_time_and_fences_that_grow_while_leaders_die) {
    std::atomic<int> inside = 0;
    std::atomic<int> entered = 0;
    std::atomic<std::uint64_t> latest = 0;
    std::atomic<bool> stop = false;
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i < 3; ++i) {
        workers.emplace_back([&, i] {
            std::string hosts;
            for (std::size_t k = 0; k < 3; ++k) {
                hosts +=
                    fmt::format("{}127.0.0.1:{}", k == 0 ? "" : ",", servers().port((i + k) % 3));
            }
            auto hf = holdfast::open("etcd://" + hosts).value();
            while (!stop) {
                auto held = hf.mutex("contended").acquire({.ttl = 4s, .wait = 10s});
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
        wait_for("progress", [&] { return entered >= before + count; }, 30s);
    };
    more(20);
    const std::size_t first = servers().leader();
    servers().kill(first);
    more(20);
    servers().start(first);
    servers().wait_until_healthy();
    const std::size_t second = servers().leader();
    servers().pause(second);
    more(20);
    servers().resume(second);
    more(20);
    stop = true;
    workers.clear();
    servers().wait_until_healthy();
}

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
//
// Replies that are lost, connections that are cut, sessions that expire, holders that are killed:
// what was granted stays granted, and nothing is left behind.
#include "zookeeper/zookeeper_ground.hpp"

#include "support/fault_proxy.hpp"

#include <fmt/format.h>

#include <atomic>

namespace holdfast::test {
namespace {

ask::acquire wants(const lock_name& name, const owner_token& owner, duration ttl = 30s,
                   ask::when_busy otherwise = ask::when_busy::refuse) {
    return {name, owner, {}, ttl, otherwise, {}, 0};
}

TEST(zookeeper_faults, an_acquire_and_a_release_survive_a_cut_anywhere) {
    fault_proxy proxy(shared_zookeeper().port(0));
    zookeeper_store through(zookeeper_at({proxy.port()}));
    zookeeper_store beside;
    std::uint64_t last = 0;
    for (std::size_t cut = 0; cut < 160; cut += 37) {
        SCOPED_TRACE(cut);
        const lock_name job = name_of("cut");
        const owner_token a = new_owner();
        through.again(ask::renew{name_of("warm"), a, {}, 30s});
        proxy.cut_replies_after(cut);
        const auto first = through.send(wants(job, a), 300ms);
        proxy.pass();
        const auto second = through.again(wants(job, a));
        ASSERT_TRUE(is_granted(second));
        EXPECT_TRUE(!is_granted(first) || fence_of(first) == fence_of(second));
        EXPECT_GT(fence_of(second), last);
        EXPECT_EQ(nodes_of("cut").size(), 1U) << "a lost reply is found again";
        EXPECT_TRUE(is_busy(beside.acquire(job, new_owner())));

        proxy.cut_replies_after(cut);
        static_cast<void>(through.send(ask::release{job, a, {}}, 300ms));
        proxy.pass();
        through.again(ask::leave{job, a, {}});
        const owner_token b = new_owner();
        const auto next = beside.again(wants(job, b));
        ASSERT_TRUE(is_granted(next));
        last = fence_of(next);
        ASSERT_TRUE(beside.release(job, b));
    }
    EXPECT_TRUE(nodes_of("cut").empty());
}

TEST(zookeeper_faults, an_acquire_whose_reply_was_lost_is_found_again_and_holds_once) {
    fault_proxy proxy(shared_zookeeper().port(0));
    zookeeper_store through(zookeeper_at({proxy.port()}));
    const lock_name job = name_of("lost reply");
    const owner_token a = new_owner();
    through.again(ask::renew{name_of("warm"), a, {}, 30s});
    shared_zookeeper().make("/holdfast");
    shared_zookeeper().make("/holdfast/lost reply");
    proxy.drop_replies();  // it is carried out, and nobody knows
    const auto unknown = through.send(wants(job, a), 300ms);
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error(), errc::outcome_unknown);
    wait_for("the node", [&] { return nodes_of("lost reply").size() == 1; });
    proxy.reset();
    proxy.pass();
    ASSERT_TRUE(is_granted(through.again(wants(job, a))));
    EXPECT_EQ(nodes_of("lost reply").size(), 1U);
    EXPECT_TRUE(is_renewed(through.again(ask::renew{job, a, {}, 30s})));
    through.again(ask::release{job, a, {}});
}

TEST(zookeeper_faults, an_acquire_whose_owner_gave_up_leaves_nothing) {
    fault_proxy proxy(shared_zookeeper().port(0));
    zookeeper_store through(zookeeper_at({proxy.port()}));
    const lock_name job = name_of("given up");
    through.again(ask::renew{name_of("warm"), new_owner(), {}, 1s});
    shared_zookeeper().make("/holdfast");
    shared_zookeeper().make("/holdfast/given up");
    proxy.drop_replies();
    EXPECT_FALSE(through.send(wants(job, new_owner(), 1s), 200ms));
    wait_for("the node", [&] { return nodes_of("given up").size() == 1; });
    proxy.reset();
    proxy.pass();
    wait_for("nothing to be left", [&] { return nodes_of("given up").empty(); });
}

// Its node has another name then, which the store does not know.
TEST(zookeeper_faults, a_downgrade_whose_reply_was_lost_leaves_nothing) {
    fault_proxy proxy(shared_zookeeper().port(0));
    zookeeper_store through(zookeeper_at({proxy.port()}));
    const lock_name job = name_of("downgraded");
    for (std::size_t cut = 100; cut <= 140; cut += 20) {  // in the list, in the move's answer
        SCOPED_TRACE(cut);
        const owner_token a = new_owner();
        const auto held = through.again(wants(job, a));
        ASSERT_TRUE(is_granted(held));
        ask::acquire shares = wants(job, a);
        shares.mode = {.type = lease_mode::kind::shared};
        shares.turns = std::get<answer::granted>(*held).fence;
        proxy.cut_replies_after(cut);
        static_cast<void>(through.send(shares, 200ms));
        proxy.pass();
        if (is_renewed(through.again(ask::renew{job, a, {}, 30s}))) {
            through.again(ask::leave{job, a, {}});
        }
        wait_for("nothing to be left", [&] { return nodes_of("downgraded").empty(); });
    }
}

TEST(zookeeper_faults, a_waiter_gets_the_name_although_its_connection_was_cut) {
    fault_proxy proxy(shared_zookeeper().port(0));
    auto through = holdfast::open(fmt::format("zookeeper://127.0.0.1:{}", proxy.port())).value();
    auto beside = holdfast::open(shared_zookeeper().url()).value();
    auto held = beside.mutex("lost watch").acquire({}).value();
    std::atomic<bool> got = false;
    through.mutex("lost watch").acquire_async({.wait = 60s}, [&](result<lease> mine) {
        got = mine.has_value();
    });
    const auto waiters = [&] {
        const auto seen = beside.inspect("lost watch").value();
        return seen ? seen->waiters : 0;
    };
    wait_for("a waiter", [&] { return waiters() == 1; });
    proxy.reset();
    ASSERT_TRUE(std::move(held).release());
    proxy.pass();
    wait_for("the handoff", [&] { return got.load(); }, 20s);
}

TEST(zookeeper_faults, a_holder_that_is_cut_off_has_lost_the_name_before_another_gets_it) {
    fault_proxy proxy(shared_zookeeper().port(0));
    auto through = holdfast::open(fmt::format("zookeeper://127.0.0.1:{}", proxy.port()),
                                  {.request_timeout = 300ms})
                       .value();
    auto beside = holdfast::open(shared_zookeeper().url()).value();
    auto held = through.mutex("cut off").acquire({.ttl = 1s, .wait = 5s}).value();
    proxy.black_hole();
    const auto next = beside.mutex("cut off").acquire({.ttl = 1s, .wait = 30s});
    ASSERT_TRUE(next) << next.error().detail;
    EXPECT_FALSE(held.held()) << "by its own clock, before the session expired";
    EXPECT_GT(next->fence(), held.fence());
    proxy.pass();
    EXPECT_EQ(std::move(held).release().error(), errc::lease_lost);
    EXPECT_TRUE(next->held());
}

TEST(zookeeper_faults, a_waiter_whose_session_expired_stands_in_the_queue_again) {
    fault_proxy proxy(shared_zookeeper().port(0));
    zookeeper_store through(zookeeper_at({proxy.port()}));
    zookeeper_store beside;
    const lock_name job = name_of("dead waiter");
    const owner_token a = new_owner();
    const owner_token b = new_owner();
    ASSERT_TRUE(is_granted(beside.acquire(job, a)));
    const auto stand = wants(job, b, 500ms, ask::when_busy::join_queue);
    ASSERT_TRUE(is_busy(through.again(stand)));
    proxy.black_hole();
    wait_for("its session to expire", [&] { return nodes_of("dead waiter").size() == 1; });
    proxy.pass();
    ASSERT_TRUE(is_busy(through.again(stand))) << "not granted";
    EXPECT_EQ(nodes_of("dead waiter").size(), 2U);
    ASSERT_TRUE(beside.release(job, a));
    wait_for("its turn", [&] { return is_granted(through.again(stand)); });
    through.again(ask::release{job, b, {}});
}

TEST(zookeeper_faults, a_holder_that_is_killed_is_followed_when_its_session_ends) {
    auto hf = holdfast::open(shared_zookeeper().url()).value();
    holding_program theirs({HOLDFAST_ZOOKEEPER_HOLDER, shared_zookeeper().url(), "killed", "700"});
    wait_for("the holder", [&] { return theirs.holds(); });
    EXPECT_EQ(hf.mutex("killed").try_acquire({}).error(), errc::busy);
    theirs.process().kill();
    const auto ours = hf.mutex("killed").acquire({.wait = 30s});
    ASSERT_TRUE(ours) << ours.error().detail;
}

TEST(zookeeper_faults, a_name_that_nobody_uses_leaves_no_node) {
    zookeeper_store store;
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(store.acquire(name_of("unused"), a)));
    ASSERT_TRUE(store.release(name_of("unused"), a));
    wait_for(
        "the container to be removed",
        [&] { return std::ranges::count(shared_zookeeper().children("/holdfast"), "unused") == 0; },
        30s);
    ASSERT_TRUE(is_granted(store.acquire(name_of("unused"), a))) << "it is made anew";
    ASSERT_TRUE(store.release(name_of("unused"), a));
}

TEST(zookeeper_faults, one_release_wakes_one_of_many_waiters) {
    constexpr std::size_t many = 12;
    const lock_name job = name_of("queue");
    zookeeper_store holder;
    const owner_token first = new_owner();
    ASSERT_TRUE(is_granted(holder.acquire(job, first)));
    std::vector<std::unique_ptr<zookeeper_store>> stores;
    std::vector<owner_token> owners;
    for (std::size_t i = 0; i < many; ++i) {
        stores.push_back(std::make_unique<zookeeper_store>());
        owners.push_back(new_owner());
        ASSERT_TRUE(is_busy(stores[i]->acquire(job, owners[i], ask::when_busy::join_queue)));
    }
    // They last for 3 s without a poll.
    for (std::size_t i = 0; i < many; ++i) {
        ASSERT_TRUE(is_busy(stores[i]->acquire(job, owners[i], ask::when_busy::join_queue)));
    }
    ASSERT_TRUE(holder.release(job, first));
    wait_for("the first", [&] { return !stores[0]->heard().empty(); });
    ASSERT_TRUE(stores[0]->release(job, owners[0]));
    wait_for("the second", [&] { return !stores[1]->heard().empty(); });
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(stores[i]->heard().size(), i < 2 ? 1U : 0U) << i;
    }
    for (std::size_t i = many; i-- > 0;) stores[i]->again(ask::leave{job, owners[i], {}});
}

TEST(zookeeper_faults, a_ttl_beyond_the_longest_session_is_granted_for_less_and_kept) {
    zookeeper_store store;
    const owner_token a = new_owner();
    const auto held = store.acquire(name_of("long"), a, ask::when_busy::refuse, 1h);
    ASSERT_TRUE(is_granted(held));
    EXPECT_EQ(std::get<answer::granted>(*held).ttl, 30s) << "half of the servers' 60 s";
    EXPECT_TRUE(is_renewed(store.send(ask::renew{name_of("long"), a, {}, 1h})));
    ASSERT_TRUE(store.release(name_of("long"), a));
}

}  // namespace
}  // namespace holdfast::test

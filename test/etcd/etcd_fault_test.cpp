// SPDX-License-Identifier: Apache-2.0
//
// Replies that are lost, connections that are cut, leases that die, a history that is compacted:
// what was granted stays granted, and nothing is left behind.
#include "driver/etcd/etcd_client.hpp"
#include "etcd/etcd_ground.hpp"

#include "support/fault_proxy.hpp"

#include <fmt/format.h>

#include <atomic>

namespace holdfast::test {
namespace {

/// The entries of a name, as etcdctl sees them.
std::vector<std::string> keys_of(const std::string& name) {
    auto lines = shared_etcd().ctl({"get", "--prefix", "--keys-only", "holdfast/" + name + "/"});
    std::erase(lines, "");
    return lines;
}

/// Ends the lease of an owner's entry, as the server does when it is not renewed.
void end_lease_of(const lock_name& name, const owner_token& owner) {
    bool is_its_own = false;
    for (const std::string& line :
         shared_etcd().ctl({"get", "-w", "fields", "--prefix", "holdfast/" + name.value() + "/"})) {
        if (line.starts_with("\"Value\"")) {
            is_its_own = line.find(owner.value()) != std::string::npos;
        }
        if (!is_its_own || !line.starts_with("\"Lease\"")) continue;
        const auto id = std::stoll(line.substr(line.find(':') + 1));
        shared_etcd().ctl({"lease", "revoke", fmt::format("{:x}", id)});
        return;
    }
    throw std::runtime_error("there is no such entry");
}

TEST(etcd_faults, an_acquire_and_a_release_survive_a_cut_anywhere) {
    fault_proxy proxy(shared_etcd().port(0));
    etcd_store through(etcd_at({proxy.port()}));
    etcd_store beside;
    std::uint64_t last = 0;
    for (std::size_t cut = 0; cut < 200; cut += 31) {
        SCOPED_TRACE(cut);
        const lock_name job = name_of("cut");
        const owner_token a = new_owner();
        const ask::acquire take{job, a, {}, 30s, ask::when_busy::refuse, {}, 0};
        through.again(ask::renew{name_of("warm"), a, {}, 30s});
        proxy.cut_replies_after(cut);
        const auto first = through.send(take, 1s);
        proxy.pass();
        const auto second = through.again(take);
        ASSERT_TRUE(is_granted(second));
        EXPECT_TRUE(!is_granted(first) || fence_of(first) == fence_of(second));
        EXPECT_GT(fence_of(second), last);
        last = fence_of(second);
        EXPECT_TRUE(is_busy(beside.acquire(job, new_owner())));

        proxy.cut_replies_after(cut);
        static_cast<void>(through.send(ask::release{job, a, {}}, 1s));
        proxy.pass();
        through.again(ask::leave{job, a, {}});
        const owner_token b = new_owner();
        const auto next = beside.acquire(job, b);
        ASSERT_TRUE(is_granted(next));
        last = fence_of(next);
        ASSERT_TRUE(beside.release(job, b));
    }
    EXPECT_TRUE(keys_of("cut").empty());
}

TEST(etcd_faults, a_request_that_is_carried_out_after_its_owner_left_leaves_nothing) {
    fault_proxy proxy(shared_etcd().port(0));
    etcd_store through(etcd_at({proxy.port()}));
    const lock_name job = name_of("late");
    const owner_token a = new_owner();
    through.again(ask::renew{name_of("warm"), a, {}, 30s});
    proxy.drop_replies();  // it is carried out, and nobody knows
    const auto lost_reply =
        through.send(ask::acquire{job, a, {}, 30s, ask::when_busy::refuse, {}, 0}, 500ms);
    EXPECT_FALSE(lost_reply);
    proxy.reset();
    proxy.pass();
    through.again(ask::leave{job, a, {}});
    wait_for("nothing to be left", [&] { return keys_of("late").empty(); });
    etcd_store beside;
    EXPECT_TRUE(is_granted(beside.acquire(job, new_owner())));
}

TEST(etcd_faults, a_waiter_gets_the_name_although_its_watch_was_lost) {
    fault_proxy proxy(shared_etcd().port(0));
    auto through = holdfast::open(fmt::format("etcd://127.0.0.1:{}", proxy.port())).value();
    auto beside = holdfast::open(shared_etcd().url()).value();
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
    proxy.pass();
    ASSERT_TRUE(std::move(held).release());
    wait_for("the handoff", [&] { return got.load(); }, 20s);
}

TEST(etcd_faults, a_waiter_whose_lease_died_stands_in_the_queue_again) {
    etcd_store one;
    etcd_store two;
    const lock_name job = name_of("dead waiter");
    const owner_token a = new_owner();
    const owner_token b = new_owner();
    ASSERT_TRUE(is_granted(one.acquire(job, a)));
    ASSERT_TRUE(is_busy(two.acquire(job, b, ask::when_busy::join_queue)));
    end_lease_of(job, b);
    EXPECT_EQ(keys_of("dead waiter").size(), 1U);
    ASSERT_TRUE(is_busy(two.acquire(job, b, ask::when_busy::join_queue))) << "not granted";
    EXPECT_EQ(keys_of("dead waiter").size(), 2U);
    ASSERT_TRUE(one.release(job, a));
    wait_for("a handoff", [&] { return !two.heard().empty(); });
    EXPECT_TRUE(two.release(job, b));
}

TEST(etcd_faults, a_waiter_whose_lease_died_is_not_granted_what_another_has) {
    etcd_store one;
    etcd_store two;
    const lock_name job = name_of("dead first waiter");
    const owner_token a = new_owner();
    const owner_token b = new_owner();
    const owner_token c = new_owner();
    ASSERT_TRUE(is_granted(one.acquire(job, a)));
    ASSERT_TRUE(is_busy(two.acquire(job, b, ask::when_busy::join_queue)));
    end_lease_of(job, b);
    ASSERT_TRUE(one.release(job, a));
    ASSERT_TRUE(is_granted(one.acquire(job, c)));
    EXPECT_TRUE(is_busy(two.acquire(job, b, ask::when_busy::join_queue)))
        << "the server's own Lock call would have granted it";
    EXPECT_TRUE(two.heard().empty());
}

TEST(etcd_faults, a_holder_whose_lease_died_has_lost_the_name) {
    etcd_store store;
    const lock_name job = name_of("dead holder");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(store.acquire(job, a)));
    ASSERT_TRUE(is_renewed(store.send(ask::renew{job, a, {}, 30s})));
    end_lease_of(job, a);
    EXPECT_TRUE(is_lost(store.send(ask::renew{job, a, {}, 30s})));
    EXPECT_TRUE(is_lost(store.release(job, a)));
}

TEST(etcd_faults, a_lease_that_died_unused_is_not_used_again) {
    etcd_store store;
    const lock_name job = name_of("pooled");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(store.acquire(job, a)));
    const auto fields = shared_etcd().ctl(
        {"get", "-w", "fields", fmt::format("holdfast/pooled/{}", std::string(a.value()))});
    ASSERT_TRUE(store.release(job, a));
    for (const std::string& line : fields) {
        if (!line.starts_with("\"Lease\"")) continue;
        const auto id = std::stoll(line.substr(line.find(':') + 1));
        shared_etcd().ctl({"lease", "revoke", fmt::format("{:x}", id)});
    }
    const owner_token b = new_owner();
    ASSERT_TRUE(is_granted(store.acquire(job, b)));
    EXPECT_TRUE(is_renewed(store.send(ask::renew{job, b, {}, 30s})));
    EXPECT_EQ(keys_of("pooled").size(), 1U);
    EXPECT_TRUE(store.release(job, b));
}

TEST(etcd_faults, a_watch_of_what_was_compacted_ends_and_says_so) {
    const auto client =
        etcd::etcd_client::make(etcd_at({shared_etcd().port(0)}), system_clock()).value();
    for (int i = 0; i < 3; ++i) shared_etcd().ctl({"put", "compacted", "x"});
    const auto fields = shared_etcd().ctl({"get", "-w", "fields", "compacted"});
    for (const std::string& line : fields) {
        if (!line.starts_with("\"Revision\"")) continue;
        shared_etcd().ctl({"compact", line.substr(line.find(':') + 2)});
    }
    std::atomic<bool> over = false;
    etcd::watch_plan plan;
    plan.key = "compacted";
    plan.from = 1;
    static_cast<void>(client->watch(plan, [&](const etcd::watch_event& event) {
        if (event.what == etcd::watch_event::kind::over) over = true;
    }));
    wait_for("the end of the watch", [&] { return over.load(); });
    client->close();
}

// With a key for each owner etcd's index, and each look into the queue, would grow for ever.
TEST(etcd_faults, all_that_find_a_name_free_use_the_same_key_and_the_same_lease) {
    etcd_store store;
    const lock_name job = name_of("one key");
    const std::vector<std::string> only{"holdfast/one key/0"};
    const auto leases = [] { return shared_etcd().ctl({"lease", "list"}).size(); };
    std::size_t first = 0;
    for (int i = 0; i < 5; ++i) {
        const owner_token owner = new_owner();
        ASSERT_TRUE(is_granted(store.acquire(job, owner)));
        EXPECT_EQ(keys_of("one key"), only);
        ASSERT_TRUE(store.release(job, owner));
        if (i == 0) first = leases();
    }
    EXPECT_EQ(leases(), first);
}

TEST(etcd_faults, one_release_wakes_one_of_many_waiters) {
    constexpr std::size_t many = 16;
    const lock_name job = name_of("queue");
    etcd_store holder;
    const owner_token first = new_owner();
    ASSERT_TRUE(is_granted(holder.acquire(job, first)));
    std::vector<std::unique_ptr<etcd_store>> stores;
    std::vector<owner_token> owners;
    for (std::size_t i = 0; i < many; ++i) {
        stores.push_back(std::make_unique<etcd_store>());
        owners.push_back(new_owner());
        ASSERT_TRUE(is_busy(stores[i]->acquire(job, owners[i], ask::when_busy::join_queue)));
    }
    ASSERT_TRUE(holder.release(job, first));
    wait_for("the first", [&] { return !stores[0]->heard().empty(); });
    ASSERT_TRUE(stores[0]->release(job, owners[0]));
    wait_for("the second", [&] { return !stores[1]->heard().empty(); });
    for (std::size_t i = 0; i < many; ++i) {
        EXPECT_EQ(stores[i]->heard().size(), i < 2 ? 1U : 0U) << i;
    }
}

}  // namespace
}  // namespace holdfast::test

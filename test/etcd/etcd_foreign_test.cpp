// SPDX-License-Identifier: Apache-2.0
//
// Other programs on the same keys: etcdctl lock, and an operator with etcdctl.
#include "etcd/etcd_ground.hpp"

#include <fstream>
#include <future>
#include <iterator>
#include <signal.h>

namespace holdfast::test {
namespace {

/// `etcdctl lock`, which prints its key once it has the lock, and gives it back on SIGINT.
class etcdctl_lock {
public:
    explicit etcdctl_lock(const std::string& name)
        : process_({.argv = shared_etcd().ctl_words({"lock", "--ttl=20", name}),
                    .output = output_.path() / "out",
                    .environment = {"ETCDCTL_API=3"}}) {}
    bool holds() const {
        std::ifstream file(output_.path() / "out");
        const std::string said{std::istreambuf_iterator<char>(file), {}};
        return !said.empty();
    }
    void let_go() {
        process_.signal(SIGINT);
        if (!process_.wait(10s)) throw std::runtime_error("etcdctl did not end");
    }

private:
    temporary_directory output_;
    child_process process_;
};

TEST(etcd_foreign, a_lock_of_etcdctl_excludes_ours) {
    auto hf = holdfast::open(shared_etcd().url()).value();
    etcdctl_lock theirs("holdfast/ctl/first");
    wait_for("etcdctl", [&] { return theirs.holds(); });
    EXPECT_EQ(hf.mutex("ctl/first").try_acquire({}).error(), errc::busy);
    const auto seen = hf.inspect("ctl/first").value().value();
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].client, "") << "nobody that we know";
    EXPECT_GT(seen.holders[0].remaining.value(), 0s);
    auto waits = std::async(std::launch::async,
                            [&] { return hf.mutex("ctl/first").acquire({.wait = 30s}); });
    wait_for("a waiter", [&] { return hf.inspect("ctl/first").value().value().waiters == 1; });
    theirs.let_go();
    const auto ours = waits.get();
    ASSERT_TRUE(ours) << ours.error().detail;
    EXPECT_GT(ours->fence(), seen.fence);
}

TEST(etcd_foreign, a_lock_of_ours_excludes_etcdctl) {
    auto hf = holdfast::open(shared_etcd().url()).value();
    auto ours = hf.mutex("ctl/second").acquire({}).value();
    etcdctl_lock theirs("holdfast/ctl/second");
    wait_for("etcdctl to wait",
             [&] { return hf.inspect("ctl/second").value().value().waiters == 1; });
    EXPECT_FALSE(theirs.holds());
    ASSERT_TRUE(std::move(ours).release());
    wait_for("etcdctl", [&] { return theirs.holds(); });
    EXPECT_EQ(hf.mutex("ctl/second").try_acquire({}).error(), errc::busy);
    EXPECT_EQ(hf.evict("ctl/second", "make room"), 1U) << "it can be evicted like ours";
    EXPECT_TRUE(hf.mutex("ctl/second").try_acquire({}));
    theirs.let_go();
}

TEST(etcd_foreign, a_name_below_another_does_not_exclude_it) {
    etcd_store store;
    const owner_token a = new_owner();
    const owner_token b = new_owner();
    const lock_name below = name_of("tree/branch");
    const lock_name above = name_of("tree");
    ASSERT_TRUE(is_granted(store.acquire(below, a)));
    ASSERT_TRUE(is_granted(store.acquire(above, b))) << "although its keys are among the others";
    EXPECT_TRUE(is_busy(store.acquire(above, new_owner())));
    EXPECT_TRUE(is_busy(store.acquire(below, new_owner())));
    EXPECT_EQ(store->inspect(above, system_clock().now() + 5s).value()->holders.size(), 1U);
    EXPECT_EQ(store->list("tree", system_clock().now() + 5s)->size(), 2U);
    EXPECT_TRUE(store.release(above, b));
    EXPECT_TRUE(store.release(below, a));
}

TEST(etcd_foreign, a_key_that_is_no_entry_is_left_alone) {
    etcd_store store;
    shared_etcd().ctl({"put", "holdfast/plain/settings", "theirs"});
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(store.acquire(name_of("plain"), a)));
    ASSERT_TRUE(store.release(name_of("plain"), a));
    EXPECT_EQ(shared_etcd().ctl({"get", "--print-value-only", "holdfast/plain/settings"}),
              std::vector<std::string>{"theirs"});
    shared_etcd().ctl({"del", "holdfast/plain/settings"});
}

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
//
// Other programs on the same nodes: kazoo's locks, and nodes that Curator would make.
#include "zookeeper/zookeeper_ground.hpp"

#include <future>

#include <signal.h>

namespace holdfast::test {
namespace {

std::vector<std::string> kazoo(const std::string& path, const std::string& kind,
                               const std::string& pattern = {}) {
    // Debian's interpreter, which has Debian's python3-kazoo.
    std::vector<std::string> words{"/usr/bin/python3", HOLDFAST_KAZOO_LOCK,
                                   shared_zookeeper().hosts(), path, kind};
    if (!pattern.empty()) words.push_back(pattern);
    return words;
}

void let_go(holding_program& theirs) {
    theirs.process().signal(SIGTERM);
    if (!theirs.process().wait(20s)) throw std::runtime_error("kazoo did not end");
}

std::uint32_t waiters_of(client& hf, std::string_view name) {
    const auto seen = hf.inspect(name).value();
    return seen ? seen->waiters : 0;
}

TEST(zookeeper_foreign, a_lock_of_kazoo_excludes_ours_and_is_followed_by_it) {
    auto hf = holdfast::open(shared_zookeeper().url()).value();
    holding_program theirs(kazoo("/holdfast/kazoo-first", "Lock"));
    wait_for("kazoo", [&] { return theirs.holds(); }, 30s);
    EXPECT_EQ(hf.mutex("kazoo-first").try_acquire({}).error(), errc::busy);
    const auto seen = hf.inspect("kazoo-first").value().value();
    ASSERT_EQ(seen.holders.size(), 1U);
    EXPECT_EQ(seen.holders[0].client, "") << "nobody that we know";
    auto waits = std::async(std::launch::async,
                            [&] { return hf.mutex("kazoo-first").acquire({.wait = 60s}); });
    wait_for("a waiter", [&] { return waiters_of(hf, "kazoo-first") == 1; });
    let_go(theirs);
    const auto ours = waits.get();
    ASSERT_TRUE(ours) << ours.error().detail;
    EXPECT_GT(ours->fence(), seen.fence);
}

TEST(zookeeper_foreign, a_lock_of_ours_excludes_kazoo_and_is_followed_by_it) {
    auto hf = holdfast::open(shared_zookeeper().url()).value();
    auto ours = hf.mutex("kazoo-second").acquire({}).value();
    holding_program theirs(kazoo("/holdfast/kazoo-second", "Lock"));
    wait_for("kazoo to wait", [&] { return waiters_of(hf, "kazoo-second") == 1; }, 30s);
    EXPECT_FALSE(theirs.holds());
    ASSERT_TRUE(std::move(ours).release());
    wait_for("kazoo", [&] { return theirs.holds(); }, 30s);
    EXPECT_EQ(hf.mutex("kazoo-second").try_acquire({}).error(), errc::busy);
    EXPECT_EQ(hf.evict("kazoo-second", "make room"), 1U) << "it can be evicted like ours";
    EXPECT_TRUE(hf.mutex("kazoo-second").try_acquire({}));
}

TEST(zookeeper_foreign, readers_share_and_writers_exclude_across_both) {
    auto hf = holdfast::open(shared_zookeeper().url()).value();
    auto ours = hf.shared_mutex("kazoo-page").acquire_shared({}).value();
    holding_program reader(kazoo("/holdfast/kazoo-page", "ReadLock"));
    wait_for("the reader", [&] { return reader.holds(); }, 30s);
    holding_program writer(kazoo("/holdfast/kazoo-page", "WriteLock"));
    wait_for("the writer to wait", [&] { return waiters_of(hf, "kazoo-page") == 1; }, 30s);
    EXPECT_EQ(hf.shared_mutex("kazoo-page").try_acquire_shared({}).error(), errc::busy)
        << "the writer stands before it";
    let_go(reader);
    EXPECT_FALSE(writer.holds());
    ASSERT_TRUE(std::move(ours).release());
    wait_for("the writer", [&] { return writer.holds(); }, 30s);
    EXPECT_EQ(hf.shared_mutex("kazoo-page").try_acquire_shared({}).error(), errc::busy);
    let_go(writer);
    EXPECT_TRUE(hf.shared_mutex("kazoo-page").try_acquire_shared({}));
}

TEST(zookeeper_foreign, a_writer_that_becomes_a_reader_lets_kazoos_readers_in) {
    auto hf = holdfast::open(shared_zookeeper().url()).value();
    auto ours = hf.shared_mutex("kazoo-down").acquire({}).value();
    const fencing_token fence = ours.fence();
    holding_program reader(kazoo("/holdfast/kazoo-down", "ReadLock"));
    wait_for("the reader to wait", [&] { return waiters_of(hf, "kazoo-down") == 1; }, 30s);
    ASSERT_TRUE(ours.downgrade());
    wait_for("the reader", [&] { return reader.holds(); }, 30s);
    EXPECT_EQ(ours.fence(), fence);
    EXPECT_TRUE(ours.renew());
    EXPECT_EQ(hf.shared_mutex("kazoo-down").try_acquire({}).error(), errc::busy);
}

TEST(zookeeper_foreign, nodes_of_curator_and_ours_stand_in_one_queue) {
    auto hf = holdfast::open(shared_zookeeper().url() + "?recipe=curator").value();
    shared_zookeeper().make("/holdfast");
    shared_zookeeper().make("/holdfast/curator");
    shared_zookeeper().make(
        "/holdfast/curator/_c_5d2a0f2e-1111-2222-3333-444455556666-lock-0000000000");
    EXPECT_EQ(hf.mutex("curator").try_acquire({}).error(), errc::busy);
    shared_zookeeper().clear("/holdfast/curator");
    auto ours = hf.mutex("curator").acquire({}).value();
    const auto nodes = nodes_of("curator");
    ASSERT_EQ(nodes.size(), 1U);
    EXPECT_THAT(nodes[0], testing::MatchesRegex("_c_[0-9a-f]{32}-lock-[0-9]{10}"));
    holding_program theirs(kazoo("/holdfast/curator", "Lock", "-lock-"));
    wait_for("kazoo to wait", [&] { return waiters_of(hf, "curator") == 1; }, 30s);
    EXPECT_FALSE(theirs.holds());
    ASSERT_TRUE(std::move(ours).release());
    wait_for("kazoo", [&] { return theirs.holds(); }, 30s);
}

TEST(zookeeper_foreign, a_node_that_is_no_entry_is_left_alone) {
    zookeeper_store store;
    shared_zookeeper().make("/holdfast");
    shared_zookeeper().make("/holdfast/plain");
    shared_zookeeper().make("/holdfast/plain/settings", "theirs");
    const owner_token a = new_owner();
    ASSERT_TRUE(is_granted(store.acquire(name_of("plain"), a)));
    ASSERT_TRUE(store.release(name_of("plain"), a));
    EXPECT_EQ(shared_zookeeper().data("/holdfast/plain/settings"), "theirs");
    shared_zookeeper().remove("/holdfast/plain");
}

}  // namespace
}  // namespace holdfast::test

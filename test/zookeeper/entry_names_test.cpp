// SPDX-License-Identifier: Apache-2.0
//
// How names and entries are written as nodes, and read from those of others.
#include "driver/zookeeper/entry_names.hpp"

#include "lease/ordered/queue_order.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace holdfast::test {
namespace {

using testing::ElementsAre;
using zookeeper::entry_names;
using zookeeper::recipe;

const std::string owner_a(32, 'a');
const std::string owner_b(32, 'b');

std::vector<std::string> in_order(const std::vector<std::string>& children) {
    std::vector<std::string> keys;
    const ordered::queue_order queue(entry_names::read(children));
    for (const auto& one : queue.entries()) keys.push_back(one.key);
    return keys;
}

TEST(zookeeper_names, every_name_is_one_node_and_is_read_back) {
    const entry_names names("/holdfast", recipe::kazoo);
    EXPECT_EQ(names.directory("job"), "/holdfast/job");
    EXPECT_EQ(names.directory("orders/42"), "/holdfast/orders%2F42");
    EXPECT_EQ(names.directory(".."), "/holdfast/%2E%2E");
    EXPECT_EQ(names.directory("房间"), "/holdfast/房间");
    for (const std::string& name : {std::string("a/b%c"), std::string("."), std::string("\x01\x7f"),
                                    std::string("\U0001F512 locked"), std::string("\ue000")}) {
        const std::string node = names.directory(name).substr(10);
        EXPECT_EQ(node.find('/'), std::string::npos);
        EXPECT_TRUE(std::ranges::none_of(node, [](char c) { return c == '\x01' || c == '\x7f'; }));
        EXPECT_EQ(entry_names::name_of(node), name);
    }
}

TEST(zookeeper_names, an_entry_tells_its_owner_and_mode) {
    for (const recipe style : {recipe::kazoo, recipe::curator}) {
        const entry_names names("/r", style);
        for (const lease_mode& mode : {lease_mode{}, lease_mode{lease_mode::kind::shared},
                                       lease_mode{lease_mode::kind::permit, 2, 5}}) {
            const auto read = entry_names::read({names.prefix(owner_a, mode) + "0000000012"});
            ASSERT_EQ(read.size(), 1U);
            EXPECT_EQ(read[0].owner, owner_a);
            EXPECT_EQ(read[0].mode, mode);
        }
    }
}

TEST(zookeeper_names, entries_of_other_recipes_stand_in_the_same_queue) {
    const std::string ours = owner_a + "__lock__0000000002";
    EXPECT_THAT(in_order({"_c_5d2a0f2e-1111-2222-3333-444455556666-lock-0000000003", ours,
                          "5d2a0f2e111122223333444455556666__rlock__0000000001", "lease_holder"}),
                ElementsAre("5d2a0f2e111122223333444455556666__rlock__0000000001", ours,
                            "_c_5d2a0f2e-1111-2222-3333-444455556666-lock-0000000003"));
    const auto curator =
        entry_names::read({"_c_5d2a0f2e-1111-2222-3333-444455556666-lock-0000000003"});
    EXPECT_TRUE(curator[0].is_foreign());
    EXPECT_EQ(curator[0].mode.type, lease_mode::kind::exclusive);
    EXPECT_EQ(entry_names::read({"x__READ__0000000003"})[0].mode.type, lease_mode::kind::shared);
}

// As Curator's StandardLockInternalsDriver.fixForSorting() does.
TEST(zookeeper_names, curator_finds_the_number_where_it_looks_for_it) {
    const entry_names names("/r", recipe::curator);
    for (const lease_mode& mode : {lease_mode{}, lease_mode{lease_mode::kind::shared},
                                   lease_mode{lease_mode::kind::permit, 2, 5}}) {
        const std::string node = names.prefix(owner_a, mode) + "0000000012";
        EXPECT_EQ(node.substr(node.rfind("lock-") + 5), "0000000012");
    }
}

TEST(zookeeper_names, the_order_holds_when_the_number_wraps) {
    const entry_names names("/r", recipe::kazoo);
    const std::string last = owner_a + "__lock__2147483647";
    const std::string wrapped = owner_b + "__lock__-2147483648";
    const std::string next = owner_a + "-1of2__lock__-2147483647";
    EXPECT_THAT(in_order({next, last, wrapped}), ElementsAre(last, wrapped, next));
    const std::string minus_one = "_c_" + owner_a + "-lock--000000001";
    const std::string zero = "_c_" + owner_b + "-lock-0000000000";
    EXPECT_THAT(in_order({zero, minus_one}), ElementsAre(minus_one, zero));
    EXPECT_EQ(entry_names::number_text(minus_one), "-000000001");
    EXPECT_EQ(entry_names::number_text(zero), "0000000000");
    EXPECT_EQ(entry_names::number_text("short123"), "");
}

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
//
// What people see and do: list, inspect, evict; and the modes, through the whole store.
#include "sqlite/store_on_file.hpp"

#include <gmock/gmock.h>

#include <mutex>
#include <vector>

namespace holdfast::test {
namespace {

class sqlite_people : public on_file {
protected:
    std::shared_ptr<sql::sql_lease_store> one = store_on({.path = path()});
    std::shared_ptr<sql::sql_lease_store> two = store_on({.path = path()});
    static time_point soon() { return system_clock().now() + 5s; }

    static ask::acquire waiting(ask::acquire asked) {
        asked.otherwise = ask::when_busy::join_queue;
        return asked;
    }
    static constexpr lease_mode shared{lease_mode::kind::shared, 1, 1};
};

TEST_F(sqlite_people, a_holder_and_its_line_are_shown_with_who_they_are) {
    const auto id = client_id::draw(system_entropy());
    one->introduce(id, {.host = "web1", .pid = 42, .program = "orders"});
    const auto mine = owner_token::draw(system_entropy(), id);
    ASSERT_TRUE(is_granted(ask_of(*one, acquiring("job", mine))));
    ASSERT_TRUE(ask_of(*two, waiting(acquiring("job", owner(), shared))));
    const auto seen = two->inspect(named("job"), soon());
    ASSERT_TRUE(seen && *seen);
    const lease_info& info = **seen;
    EXPECT_EQ(info.mode, lease_mode{});
    ASSERT_EQ(info.holders.size(), 1U);
    EXPECT_EQ(info.holders[0].who, (client_label{"web1", 42, "orders"}));
    EXPECT_EQ(info.holders[0].fence, info.fence);
    ASSERT_TRUE(info.holders[0].since);
    EXPECT_LT(std::chrono::abs(*info.holders[0].since - system_clock().wall()), 1h);
    ASSERT_TRUE(info.remaining);
    EXPECT_LE(*info.remaining, 10s);
    EXPECT_EQ(info.waiters, 1U);
    ASSERT_EQ(info.queue.size(), 1U);
    EXPECT_EQ(info.queue[0].mode.type, lease_mode::kind::shared);
    EXPECT_EQ(info.queue[0].who, client_label{}) << "it never said who it is";
    EXPECT_FALSE(*two->inspect(named("jo"), soon()));
    EXPECT_FALSE(*two->inspect(named("job2"), soon()));
}

TEST_F(sqlite_people, permits_are_added_up) {
    const lease_mode two_of_five{lease_mode::kind::permit, 2, 5};
    ASSERT_TRUE(is_granted(ask_of(*one, acquiring("pool", owner(), two_of_five))));
    ASSERT_TRUE(is_granted(ask_of(*two, acquiring("pool", owner(), two_of_five))));
    EXPECT_FALSE(is_granted(ask_of(*two, acquiring("pool", owner(), two_of_five))));
    const auto list = one->list("", soon());
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 1U);
    EXPECT_EQ((*list)[0].mode, (lease_mode{lease_mode::kind::permit, 4, 5}));
    EXPECT_EQ((*list)[0].holders.size(), 2U);
    EXPECT_EQ((*list)[0].holders[0].permits, 2U);
}

TEST_F(sqlite_people, more_permits_than_there_are_is_a_wrong_call) {
    const lease_mode six_of_five{lease_mode::kind::permit, 6, 5};
    EXPECT_EQ(ask_of(*one, acquiring("pool", owner(), six_of_five)).error(),
              errc::invalid_argument);
}

TEST_F(sqlite_people, an_evicted_holder_learns_why_and_the_next_one_holds) {
    std::mutex guard;
    std::vector<handed_off> heard;
    two->on_push([&](const lease_push& push) {
        const std::scoped_lock lock(guard);
        heard.push_back(std::get<handed_off>(push));
    });
    const auto a = owner();
    const auto b = owner();
    ASSERT_TRUE(is_granted(ask_of(*one, acquiring("job", a))));
    ASSERT_TRUE(ask_of(*two, waiting(acquiring("job", b))));
    EXPECT_EQ(one->evict(named("job"), "stuck since noon", soon()), 1U);
    ASSERT_EQ(heard.size(), 1U);
    EXPECT_EQ(heard[0].owner, b);
    const auto reply = ask_of(*one, ask::renew{named("job"), a, {}, 10s});
    ASSERT_TRUE(reply);
    ASSERT_TRUE(std::holds_alternative<answer::lost>(*reply));
    EXPECT_EQ(std::get<answer::lost>(*reply).reason, "stuck since noon");
    EXPECT_TRUE(ask_of(*two, ask::renew{named("job"), b, {}, 10s}));
    EXPECT_EQ(one->evict(named("nothing"), "", soon()), 0U);
    EXPECT_EQ(one->evict(named("job"), std::string(1001, 'x'), soon()).error(),
              errc::invalid_argument);
}

TEST_F(sqlite_people, an_exclusive_holder_becomes_a_shared_one) {
    const auto a = owner();
    ASSERT_TRUE(is_granted(ask_of(*one, acquiring("job", a))));
    ASSERT_TRUE(is_granted(ask_of(*one, acquiring("job", a, shared))));
    const auto b = owner();
    EXPECT_TRUE(is_granted(ask_of(*two, acquiring("job", b, shared))));
    EXPECT_TRUE(ask_of(*one, ask::release{named("job"), a, shared}));
    EXPECT_FALSE(is_granted(ask_of(*one, acquiring("job", a))));
    EXPECT_TRUE(ask_of(*two, ask::release{named("job"), b, shared}));
    EXPECT_TRUE(is_granted(ask_of(*one, acquiring("job", a))));
}

TEST_F(sqlite_people, a_refusal_inside_a_batch_costs_only_itself) {
    std::vector<lease_request> batch;
    const auto a = owner();
    ASSERT_TRUE(is_granted(ask_of(*one, acquiring("shared", a, shared))));
    batch.emplace_back(acquiring("x", a));
    batch.emplace_back(acquiring("shared", a));  // no upgrade
    batch.emplace_back(acquiring("y", a));
    std::vector<result<lease_reply>> replies(batch.size());
    one->exchange(batch, replies, soon());
    EXPECT_TRUE(is_granted(replies[0]));
    EXPECT_EQ(replies[1].error(), errc::invalid_argument);
    EXPECT_TRUE(is_granted(replies[2]));
}

}  // namespace
}  // namespace holdfast::test

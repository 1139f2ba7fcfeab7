// SPDX-License-Identifier: Apache-2.0
//
// What a request costs in round trips, and what a client remembers of names to save some.

#include HOLDFAST_SQL_GROUND  // the server's: its program says which

#include "support/fault_proxy.hpp"

namespace holdfast::test {
namespace {

// Of this run of the case alone.
lock_name fresh(const std::string& text) {
    static int runs = 0;
    return name_of(text + ' ' + std::to_string(++runs));
}

class sql_trips : public testing::Test {
protected:
    std::uint64_t trips_of(const auto& act) {
        const std::uint64_t before = proxy.trips();
        act();
        return proxy.trips() - before;
    }
    // Connected, with every statement prepared, and the name's gate is there.
    void warm(const lock_name& name) {
        for (int i = 0; i < 2; ++i) {
            const owner_token a = new_owner();
            ASSERT_TRUE(is_granted(
                counted.again(ask::acquire{name, a, {}, 30s, ask::when_busy::refuse, {}, 0})));
            ASSERT_TRUE(counted.release(name, a));
        }
    }

    fault_proxy proxy{shared_server().port()};
    sql_store counted{options_at(proxy.port())};
    sql_store beside{options_at(shared_server().port())};
    sql_store third{options_at(shared_server().port())};
};

TEST_F(sql_trips, a_free_name_is_acquired_renewed_and_released_in_one_trip_each) {
    const lock_name job = fresh("trips of a free name");
    warm(job);
    const owner_token a = new_owner();
    EXPECT_EQ(trips_of([&] { EXPECT_TRUE(is_granted(counted.acquire(job, a))); }), 1U);
    ASSERT_TRUE(is_renewed(counted.send(ask::renew{job, a, {}, 30s})));  // prepares it
    EXPECT_EQ(trips_of([&] { EXPECT_TRUE(is_renewed(counted.send(ask::renew{job, a, {}, 30s}))); }),
              1U);
    EXPECT_EQ(trips_of([&] { EXPECT_TRUE(counted.release(job, a)); }), 1U);
}

// The one who releases has met others at that name before, as whoever takes part in a contest has.
TEST_F(sql_trips, a_release_hands_over_in_two_trips_and_wakes_one_waiter) {
    const lock_name job = fresh("trips of a handoff");
    warm(job);
    const owner_token a = new_owner();
    const owner_token b = new_owner();
    const owner_token c = new_owner();
    ASSERT_TRUE(is_granted(counted.acquire(job, a)));
    ASSERT_TRUE(is_busy(beside.acquire(job, b, ask::when_busy::join_queue)));
    ASSERT_TRUE(is_busy(third.acquire(job, c, ask::when_busy::join_queue)));
    ASSERT_TRUE(is_renewed(counted.send(ask::renew{job, a, {}, 30s})));  // meets them

    EXPECT_LE(trips_of([&] { EXPECT_TRUE(counted.release(job, a)); }), 2U);
    wait_for("the first waiter to be told", [&] { return !beside.heard().empty(); });
    EXPECT_EQ(beside.heard().front().owner.value(), b.value());
    EXPECT_GT(beside.heard().front().ttl, 0s) << "it was woken, and owns nothing";
    EXPECT_TRUE(is_busy(third.acquire(job, new_owner())));
    EXPECT_TRUE(third.heard().empty()) << "who was not the next was woken, too";
}

TEST_F(sql_trips, a_gate_that_was_swept_since_is_made_anew_with_a_larger_fence) {
    const lock_name job = fresh("swept since");
    warm(job);
    const owner_token a = new_owner();
    const auto first = counted.acquire(job, a);
    ASSERT_TRUE(is_granted(first));
    ASSERT_TRUE(counted.release(job, a));
    ASSERT_TRUE(beside->sweep_all(system_clock().now() + 10s));
    const auto gate = "SELECT name FROM holdfast_names WHERE name = '" + job.value() + "'";
    EXPECT_TRUE(shared_server().sql(gate).empty());
    const auto second = counted.acquire(job, new_owner());
    ASSERT_TRUE(is_granted(second));
    EXPECT_GT(fence_of(second), fence_of(first));
}

TEST_F(sql_trips, a_gate_that_another_has_taken_since_is_busy) {
    const lock_name job = fresh("taken since");
    warm(job);
    const owner_token b = new_owner();
    const auto theirs = beside.acquire(job, b);
    ASSERT_TRUE(is_granted(theirs));
    EXPECT_TRUE(is_busy(counted.acquire(job, new_owner())));
    ASSERT_TRUE(beside.release(job, b));
    const auto ours = counted.acquire(job, new_owner());
    ASSERT_TRUE(is_granted(ours));
    EXPECT_GT(fence_of(ours), fence_of(theirs));
}

}  // namespace
}  // namespace holdfast::test

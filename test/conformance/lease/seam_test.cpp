// SPDX-License-Identifier: Apache-2.0
//
// What every engine's lease_store promises, request by request.
#include "conformance/lease/seam_fixture.hpp"

#include <algorithm>
#include <iterator>

namespace holdfast::test {
namespace {

// Cases are skipped by what an engine says that it can do: so it must not say too little.
TEST_P(lease_seam, can_do_all_that_is_promised_of_it) {
    const std::string& name = GetParam().name;
    const bool votes = name == "quorum" || name == "redlock";
    const bool tables = name == "sqlite" || name == "postgresql" || name == "mysql";
    const bool entries = name == "etcd" || name == "zookeeper";
    const bool commands = !votes && !tables && !entries;  // anything that speaks Redis commands
    const capabilities can = one.store().can();
    EXPECT_TRUE(can.fencing && can.pushes && can.listing);
    EXPECT_EQ(can.fair, !votes);
    EXPECT_EQ(can.shared, !votes);
    EXPECT_EQ(can.permits, !votes);
    EXPECT_EQ(can.resize, !votes && !entries);
    EXPECT_EQ(can.eviction_pushes, commands);
}

TEST_P(lease_seam, grants_a_free_name_with_a_fence_below_2_to_the_53) {
    const auto reply = one.acquire(job, a);
    ASSERT_TRUE(granted(reply));
    EXPECT_GT(fence(reply).value, 0U);
    EXPECT_LT(fence(reply).value, 1ULL << 53);
    EXPECT_EQ(std::get<answer::granted>(*reply).ttl, ttl);
}

TEST_P(lease_seam, refuses_a_name_that_someone_else_holds) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    EXPECT_TRUE(busy(two.acquire(job, b)));
    EXPECT_TRUE(busy(one.acquire(job, b))) << "also to another owner of the same client";
    EXPECT_TRUE(granted(two.acquire(*lock_name::make("other"), b)));
}

TEST_P(lease_seam, answers_a_repeated_acquire_with_a_fence_of_the_same_holder) {
    const auto first = one.acquire(job, a);
    const auto again = one.acquire(job, a, ask::when_busy::join_queue);
    ASSERT_TRUE(granted(again));
    EXPECT_GE(fence(again), fence(first));
    const auto third = one.acquire(job, a);
    EXPECT_GE(fence(third), fence(again));
    EXPECT_TRUE(fence(third) == fence(again) || !one.store().can().fair)
        << "stable, once it was asked for again; a quorum may have heard of a larger one meanwhile";
    ASSERT_TRUE(one.release(job, a));
    const auto next = two.acquire(job, b);
    ASSERT_TRUE(granted(next)) << "one release undoes any number of repeats";
    EXPECT_GT(fence(next), fence(third));
}

TEST_P(lease_seam, draws_fences_that_strictly_grow_however_a_lease_ended) {
    fencing_token last{0};
    for (int i = 0; i < 12; ++i) {
        const auto who = owner();
        const auto reply = one.acquire(job, who);
        ASSERT_TRUE(granted(reply));
        EXPECT_GT(fence(reply), last);
        last = fence(reply);
        switch (i % 4) {
            case 0: EXPECT_TRUE(one.release(job, who)); break;
            case 1: EXPECT_TRUE(one.leave(job, who)); break;
            case 2: bed->forget("job"); break;
            default: bed->pass(ttl + bed->late() + 2ms);
        }
    }
}

TEST_P(lease_seam, ends_the_lease_of_a_dead_holder_at_its_ttl_and_not_before) {
    const time_point before = bed->time().now();
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl / 2);
    if (bed->time().now() < before + ttl * 9 / 10) {
        EXPECT_TRUE(busy(two.acquire(job, b)));
    }
    bed->pass(ttl / 2 + bed->late() + 5ms);
    EXPECT_TRUE(granted(two.acquire(job, b)));
}

TEST_P(lease_seam, renews_for_a_whole_ttl_from_now) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl * 2 / 3);
    ASSERT_TRUE(one.renew(job, a));
    bed->pass(ttl * 2 / 3);
    EXPECT_TRUE(busy(two.acquire(job, b)));
}

TEST_P(lease_seam, does_not_let_a_late_owner_release_the_next_owners_lease) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl + bed->late() + 5ms);
    ASSERT_TRUE(granted(two.acquire(job, b)));
    EXPECT_FALSE(one.release(job, a));
    EXPECT_FALSE(one.leave(job, a));
    EXPECT_TRUE(busy(one.acquire(job, a))) << "b still holds it";
    EXPECT_TRUE(two.release(job, b));
}

TEST_P(lease_seam, does_not_let_a_late_owner_renew_the_next_owners_lease) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl + bed->late() + 5ms);
    EXPECT_FALSE(one.renew(job, a)) << "nobody's";
    ASSERT_TRUE(granted(two.acquire(job, b)));
    EXPECT_FALSE(one.renew(job, a)) << "b's";
}

TEST_P(lease_seam, does_not_bring_a_released_lease_back_by_a_late_renewal) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    ASSERT_TRUE(one.release(job, a));
    EXPECT_FALSE(one.renew(job, a));
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam, says_lost_to_a_holder_whose_lease_was_deleted) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->forget("job");
    EXPECT_FALSE(one.renew(job, a));
    EXPECT_FALSE(one.release(job, a));
}

TEST_P(lease_seam, serves_in_the_order_of_coming) {
    if (!fair()) GTEST_SKIP() << "allowed: this engine promises no order";
    ASSERT_TRUE(granted(one.acquire(job, a)));
    std::vector<owner_token> line;
    for (int i = 0; i < 8; ++i) {
        line.push_back(owner());
        EXPECT_EQ((i % 2 == 0 ? one : two).join_queue(job, line.back()).ahead,
                  static_cast<std::uint32_t>(i));
    }
    owner_token holder = a;
    fencing_token last{0};
    for (int i = 0; i < 8; ++i) {
        ASSERT_TRUE(one.release(job, holder));
        const auto push = (i % 2 == 0 ? one : two).next_push();
        EXPECT_EQ(push.owner, line[static_cast<std::size_t>(i)]);
        EXPECT_GT(push.fence, last);
        last = push.fence;
        holder = push.owner;
    }
}

TEST_P(lease_seam, leaves_nothing_behind_that_does_not_expire) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.join_queue(job, b);
    one.join_queue(job, c);
    bed->pass(ttl + 5s);  // everybody has died
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam, carries_out_a_batch_with_an_outcome_for_each) {
    const auto other = *lock_name::make("other");
    const auto kept = *lock_name::make("kept");
    const auto ended = *lock_name::make("ended");
    ASSERT_TRUE(granted(two.acquire(job, b)));
    ASSERT_TRUE(granted(one.acquire(kept, a)));
    ASSERT_TRUE(granted(one.acquire(ended, a)));
    const std::vector<lease_request> batch{
        plain(job, a),
        plain(other, a),
        ask::renew{kept, a, {}, ttl},
        ask::release{ended, a, {}},
        ask::release{*lock_name::make("never had"), a, {}},
    };
    std::vector<result<lease_reply>> replies(batch.size());
    one.store().exchange(batch, replies, bed->time().now() + 5s);
    EXPECT_TRUE(busy(replies[0]));
    EXPECT_TRUE(granted(replies[1]));
    EXPECT_TRUE(std::holds_alternative<answer::renewed>(*replies[2]));
    EXPECT_TRUE(std::holds_alternative<answer::released>(*replies[3]));
    EXPECT_TRUE(std::holds_alternative<answer::lost>(*replies[4]));
}

TEST_P(lease_seam, answers_a_submitted_batch_once_each) {
    std::mutex mutex;
    std::vector<int> seen(3);
    one.store().submit(
        {plain(job, a), plain(*lock_name::make("x"), a), ask::leave{*lock_name::make("y"), a, {}}},
        bed->time().now() + 5s, [&](std::size_t index, result<lease_reply> reply) {
            const std::scoped_lock guard(mutex);
            EXPECT_TRUE(reply);
            ++seen[index];
        });
    wait_for("three answers", [&] {
        const std::scoped_lock guard(mutex);
        return seen == std::vector<int>{1, 1, 1};
    });
}

TEST_P(lease_seam, refuses_a_mode_that_it_does_not_have) {
    auto shared = plain(job, a);
    shared.mode.type = lease_mode::kind::shared;
    if (one.store().can().shared) return;
    EXPECT_EQ(one.send(shared).error(), errc::unsupported);
    EXPECT_TRUE(granted(two.acquire(job, b)));
}

TEST_P(lease_seam, takes_every_name_that_is_one) {
    for (const std::string& text :
         {std::string("a{b}c"), std::string("}{"), std::string("直播/房间"), std::string(512, 'n'),
          std::string("*?[a]\\ '\"")}) {
        const auto name = *lock_name::make(text);
        const auto who = owner();
        ASSERT_TRUE(granted(one.acquire(name, who))) << text;
        two.join_queue(name, b);
        ASSERT_TRUE(one.release(name, who));
        EXPECT_EQ(two.next_push().owner, b);
        ASSERT_TRUE(granted(two.acquire(name, b)));
        ASSERT_TRUE(two.release(name, b));
    }
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam, lists_what_is_held_with_fence_time_and_waiters) {
    const auto held = one.acquire(*lock_name::make("orders/1"), a);
    ASSERT_TRUE(granted(one.acquire(*lock_name::make("orders/[2]"), b)));
    ASSERT_TRUE(granted(one.acquire(*lock_name::make("users/1"), c)));
    ASSERT_TRUE(one.send(
        ask::renew{*lock_name::make("orders/1"), a, {}, ttl, fence(held)}));  // tells the fence
    two.join_queue(*lock_name::make("orders/1"), c);
    const auto list = one.store().list("orders/", bed->time().now() + 5s);
    ASSERT_TRUE(list);
    ASSERT_EQ(list->size(), 2U);
    EXPECT_EQ((*list)[0].name, "orders/1");
    EXPECT_EQ((*list)[0].fence, fence(held));
    EXPECT_EQ((*list)[0].waiters, 1U);
    ASSERT_TRUE((*list)[0].remaining);
    EXPECT_LE(*(*list)[0].remaining, ttl);
    EXPECT_GT(*(*list)[0].remaining, ttl / 2);
    EXPECT_EQ((*list)[1].name, "orders/[2]");
    EXPECT_EQ(one.store().list("orders/[", bed->time().now() + 5s)->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(on, lease_seam, testing::ValuesIn(lease_engines()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test

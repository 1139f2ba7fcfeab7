// SPDX-License-Identifier: Apache-2.0
//
// What every engine's lease_store promises, request by request.
#include "conformance/lease/testbed.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <mutex>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

/// One client of the engine, as the seam sees it.
class party {
public:
    explicit party(testbed& bed) : bed_(bed), store_(bed.make_store()) {
        store_->on_push([box = box_](const lease_push& push) {
            if (const auto* given = std::get_if<handed_over>(&push)) {
                const std::scoped_lock guard(box->mutex);
                box->given.push_back(*given);
            }
        });
    }

    result<lease_reply> send(const lease_request& request) {
        result<lease_reply> reply;
        store_->exchange({&request, 1}, {&reply, 1}, bed_.time().now() + 5s);
        return reply;
    }
    result<lease_reply> acquire(const lock_name& name, const owner_token& owner,
                                ask::when_busy otherwise = ask::when_busy::refuse,
                                line_ticket ticket = {}) {
        return send(ask::acquire{name, owner, {}, bed_.ttl(), otherwise, ticket, 0});
    }
    answer::busy stand_in_line(const lock_name& name, const owner_token& owner,
                               line_ticket ticket = {}) {
        const auto reply = acquire(name, owner, ask::when_busy::stand_in_line, ticket);
        if (!reply || !std::holds_alternative<answer::busy>(*reply)) {
            ADD_FAILURE() << "expected a place in line";
            return {};
        }
        return std::get<answer::busy>(*reply);
    }
    bool renew(const lock_name& name, const owner_token& owner) {
        const auto reply = send(ask::renew{name, owner, {}, bed_.ttl()});
        return reply && std::holds_alternative<answer::renewed>(*reply);
    }
    bool release(const lock_name& name, const owner_token& owner) {
        const auto reply = send(ask::release{name, owner, {}});
        return reply && std::holds_alternative<answer::released>(*reply);
    }
    bool leave(const lock_name& name, const owner_token& owner) {
        const auto reply = send(ask::leave{name, owner, {}});
        return reply && std::get<answer::released>(*reply).found;
    }

    /// The pushes heard so far; empties the box.
    std::vector<handed_over> heard() {
        const std::scoped_lock guard(box_->mutex);
        std::vector<handed_over> all(box_->given.begin(), box_->given.end());
        box_->given.clear();
        return all;
    }
    handed_over next_push() {
        std::vector<handed_over> all;
        wait_for("a hand-over", [&] { return !(all = heard()).empty(); });
        EXPECT_EQ(all.size(), 1U);
        return all.front();
    }
    lease_store& store() { return *store_; }

private:
    struct mailbox {
        std::mutex mutex;
        std::deque<handed_over> given;
    };
    testbed& bed_;
    std::shared_ptr<mailbox> box_ = std::make_shared<mailbox>();
    std::shared_ptr<lease_store> store_;
};

class lease_seam : public testing::TestWithParam<lease_engine> {
protected:
    owner_token owner() { return owner_token::draw(system_entropy()); }

    static bool granted(const result<lease_reply>& reply) {
        return reply && std::holds_alternative<answer::granted>(*reply);
    }
    static bool busy(const result<lease_reply>& reply) {
        return reply && std::holds_alternative<answer::busy>(*reply);
    }
    static fencing_token fence(const result<lease_reply>& reply) {
        return std::get<answer::granted>(reply.value()).fence;
    }

    ask::acquire plain(const lock_name& name, const owner_token& who) const {
        return {name, who, {}, ttl, ask::when_busy::refuse, {}, 0};
    }

    std::unique_ptr<testbed> bed = GetParam().make();
    const duration ttl = bed->ttl();
    party one{*bed};
    party two{*bed};
    const lock_name job = *lock_name::make("job");
    const owner_token a = owner();
    const owner_token b = owner();
    const owner_token c = owner();
};

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

TEST_P(lease_seam, answers_a_repeated_acquire_with_the_same_fence) {
    const auto first = one.acquire(job, a);
    const auto again = one.acquire(job, a, ask::when_busy::stand_in_line);
    ASSERT_TRUE(granted(again));
    EXPECT_EQ(fence(first), fence(again));
    ASSERT_TRUE(one.release(job, a));
    EXPECT_TRUE(granted(two.acquire(job, b))) << "one release undoes any number of repeats";
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
            default: bed->pass(ttl + 2ms);
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
    bed->pass(ttl / 2 + 5ms);
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
    bed->pass(ttl + 5ms);
    ASSERT_TRUE(granted(two.acquire(job, b)));
    EXPECT_FALSE(one.release(job, a));
    EXPECT_FALSE(one.leave(job, a));
    EXPECT_TRUE(busy(one.acquire(job, a))) << "b still holds it";
    EXPECT_TRUE(two.release(job, b));
}

TEST_P(lease_seam, does_not_let_a_late_owner_renew_the_next_owners_lease) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl + 5ms);
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

TEST_P(lease_seam, hands_a_released_name_to_the_first_in_line_and_wakes_nobody_else) {
    const auto held = one.acquire(job, a);
    two.stand_in_line(job, b);
    one.stand_in_line(job, c);
    ASSERT_TRUE(one.release(job, a));
    const auto push = two.next_push();
    EXPECT_EQ(push.owner, b);
    EXPECT_GT(push.fence, fence(held));
    EXPECT_TRUE(one.heard().empty());
    const auto mine = two.acquire(job, b);
    ASSERT_TRUE(granted(mine)) << "a wake means owned";
    EXPECT_EQ(fence(mine), push.fence);
    EXPECT_TRUE(busy(one.acquire(job, a)));
}

TEST_P(lease_seam, serves_in_the_order_of_coming) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    std::vector<owner_token> line;
    for (int i = 0; i < 8; ++i) {
        line.push_back(owner());
        EXPECT_EQ((i % 2 == 0 ? one : two).stand_in_line(job, line.back()).ahead,
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

TEST_P(lease_seam, keeps_a_place_by_looking_again) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    const auto place = one.stand_in_line(job, b);
    two.stand_in_line(job, c);
    for (int i = 0; i < 6; ++i) {
        bed->pass(1s);
        ASSERT_TRUE(one.renew(job, a));
        EXPECT_EQ(one.stand_in_line(job, b, place.ticket).ahead, 0U);
        EXPECT_EQ(two.stand_in_line(job, c).ahead, 1U);
    }
}

TEST_P(lease_seam, passes_over_a_waiter_that_has_not_looked_for_some_seconds) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    one.stand_in_line(job, b);
    for (int i = 0; i < 4; ++i) {
        bed->pass(1s);
        ASSERT_TRUE(one.renew(job, a));
        two.stand_in_line(job, c);
    }
    ASSERT_TRUE(one.release(job, a));
    EXPECT_EQ(two.next_push().owner, c);
    EXPECT_TRUE(one.heard().empty());
}

TEST_P(lease_seam, passes_over_a_waiter_whose_client_is_gone_at_once) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    {
        party gone(*bed);
        gone.stand_in_line(job, b);
    }
    two.stand_in_line(job, c);
    ASSERT_TRUE(one.release(job, a));
    EXPECT_EQ(two.next_push().owner, c);
}

TEST_P(lease_seam, gives_back_its_place_to_a_waiter_that_the_engine_forgot) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    const auto early = one.stand_in_line(job, b);
    for (int i = 0; i < 4; ++i) {
        bed->pass(1s);
        ASSERT_TRUE(one.renew(job, a));
        if (i > 0) two.stand_in_line(job, c);
    }
    EXPECT_EQ(one.stand_in_line(job, b, early.ticket).ahead, 0U);
    EXPECT_EQ(two.stand_in_line(job, c).ahead, 1U);
}

TEST_P(lease_seam, tells_the_head_to_look_when_a_dead_holders_time_is_over) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl - ttl / 50);
    const auto head = two.stand_in_line(job, b);
    EXPECT_LE(head.look_after, ttl / 50 + 2ms);
    bed->pass(head.look_after);
    EXPECT_TRUE(granted(two.acquire(job, b, ask::when_busy::stand_in_line, head.ticket)));
}

TEST_P(lease_seam, lets_any_waiters_look_help_the_head) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl - 200ms);
    two.stand_in_line(job, b);
    one.stand_in_line(job, c);
    bed->pass(205ms);
    EXPECT_TRUE(busy(one.acquire(job, c, ask::when_busy::stand_in_line)));
    EXPECT_EQ(two.next_push().owner, b);
}

TEST_P(lease_seam, lets_nobody_overtake_the_line_after_a_holder_died) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    bed->pass(ttl - 200ms);
    two.stand_in_line(job, b);
    bed->pass(205ms);
    EXPECT_TRUE(busy(one.acquire(job, c))) << "a newcomer that would not even wait";
    EXPECT_EQ(two.next_push().owner, b);
}

TEST_P(lease_seam, takes_back_a_hand_over_that_is_not_claimed) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.stand_in_line(job, b);
    ASSERT_TRUE(one.release(job, a));
    const duration claim = two.next_push().ttl;
    EXPECT_LE(claim, std::max<duration>(ttl, 3s));
    bed->pass(claim + 5ms);  // b was paused and says nothing
    EXPECT_TRUE(granted(one.acquire(job, c)));
    EXPECT_FALSE(two.renew(job, b));
}

TEST_P(lease_seam, lets_a_waiter_leave_without_a_trace) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.stand_in_line(job, b);
    EXPECT_TRUE(two.leave(job, b));
    EXPECT_FALSE(two.leave(job, b));
    ASSERT_TRUE(one.release(job, a));
    EXPECT_TRUE(two.heard().empty());
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam, passes_on_what_was_handed_to_a_waiter_that_was_just_leaving) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.stand_in_line(job, b);
    one.stand_in_line(job, c);
    ASSERT_TRUE(one.release(job, a));  // b's from here on
    EXPECT_TRUE(two.leave(job, b));
    EXPECT_EQ(one.next_push().owner, c);
}

TEST_P(lease_seam, leaves_nothing_behind_that_does_not_expire) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    two.stand_in_line(job, b);
    one.stand_in_line(job, c);
    bed->pass(ttl + 5s);  // everybody has died
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam, bounds_the_line) {
    ASSERT_TRUE(granted(one.acquire(job, a)));
    std::optional<error> refused;
    for (int i = 0; i < 1100 && !refused; ++i) {
        const auto reply = one.acquire(job, owner(), ask::when_busy::stand_in_line);
        if (!reply) refused = reply.error();
    }
    ASSERT_TRUE(refused);
    EXPECT_EQ(*refused, errc::busy);
    EXPECT_NE(refused->detail.find("full"), std::string::npos) << refused->detail;
}

TEST_P(lease_seam, carries_out_a_batch_with_an_outcome_for_each) {
    ASSERT_TRUE(granted(two.acquire(job, b)));
    const auto other = *lock_name::make("other");
    const std::vector<lease_request> batch{
        plain(job, a),
        plain(other, a),
        ask::renew{other, a, {}, ttl},
        ask::release{other, a, {}},
        ask::release{other, a, {}},
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
        {plain(job, a),
         plain(*lock_name::make("x"), a),
         ask::leave{*lock_name::make("y"), a, {}}},
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
    for (const std::string& text : {std::string("a{b}c"), std::string("}{"), std::string("直播/房间"),
                                   std::string(512, 'n'), std::string("*?[a]\\ '\"")}) {
        const auto name = *lock_name::make(text);
        const auto who = owner();
        ASSERT_TRUE(granted(one.acquire(name, who))) << text;
        two.stand_in_line(name, b);
        ASSERT_TRUE(one.release(name, who));
        EXPECT_EQ(two.next_push().owner, b);
        ASSERT_TRUE(two.release(name, b));
    }
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(lease_seam, lists_what_is_held_with_fence_time_and_waiters) {
    const auto held = one.acquire(*lock_name::make("orders/1"), a);
    ASSERT_TRUE(granted(one.acquire(*lock_name::make("orders/[2]"), b)));
    ASSERT_TRUE(granted(one.acquire(*lock_name::make("users/1"), c)));
    two.stand_in_line(*lock_name::make("orders/1"), c);
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

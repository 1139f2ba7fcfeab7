// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/name_book.hpp"

#include <holdfast/entropy.hpp>

#include <gmock/gmock.h>

namespace holdfast::sql {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr listener_id us{1, 1};
constexpr listener_id they{2, 1};

owner_token owner() {
    return owner_token::draw(system_entropy());
}

lease_mode shared() {
    return {lease_mode::kind::shared, 1, 1};
}
lease_mode permits(std::uint32_t count, std::uint32_t limit) {
    return {lease_mode::kind::permit, count, limit};
}

/// A name whose book is closed after each step and opened anew from what it kept.
class name_book_rules : public testing::Test {
protected:
    ask::acquire asking(const owner_token& who, lease_mode mode = {}) {
        return {job, who, mode, 10s, ask::when_busy::refuse, {}, 0};
    }
    ask::acquire waiting(const owner_token& who, lease_mode mode = {}) {
        auto asked = asking(who, mode);
        asked.otherwise = ask::when_busy::join_queue;
        return asked;
    }
    result<lease_reply> acquire(const ask::acquire& asked, listener_id self = us) {
        name_book book = open();
        auto reply = book.acquire(asked, self);
        close(book);
        return reply;
    }
    bool granted(const ask::acquire& asked, listener_id self = us) {
        const auto reply = acquire(asked, self);
        return reply && std::holds_alternative<answer::granted>(*reply);
    }
    answer::busy busy(const ask::acquire& asked, listener_id self = us) {
        const auto reply = acquire(asked, self);
        EXPECT_TRUE(reply && std::holds_alternative<answer::busy>(*reply));
        return std::get<answer::busy>(*reply);
    }
    bool release(const owner_token& who) {
        name_book book = open();
        const auto reply = book.release({job, who, {}});
        close(book);
        return std::holds_alternative<answer::released>(reply);
    }
    bool holds(const owner_token& who) {
        name_book book = open();
        return std::holds_alternative<answer::renewed>(book.renew({job, who, {}, 1s}));
    }
    name_book open() {
        return {now, top, kept, [this](const listener_id& id) {
                    if (id.process != us.process) return hearing::elsewhere;
                    return gone ? hearing::gone : hearing::here;
                }};
    }
    void close(name_book& book) {
        top = book.top();
        kept.clear();
        for (const party& p : book.parties()) {
            if (!p.gone) kept.push_back(p);
        }
        told.clear();
        for (const note& one : book.notes()) told.push_back(one.push.owner);
    }

    const lock_name job = *lock_name::make("job");
    const owner_token a = owner(), b = owner(), c = owner(), d = owner();
    std::int64_t now = 1'000'000'000;
    std::int64_t top = 0;
    std::vector<party> kept;
    std::vector<owner_token> told;
    bool gone = false;
};

TEST_F(name_book_rules, shared_holders_stand_together_and_keep_an_exclusive_one_out) {
    EXPECT_TRUE(granted(asking(a, shared())));
    EXPECT_TRUE(granted(asking(b, shared())));
    busy(asking(c));
    EXPECT_TRUE(release(a));
    busy(asking(c));
    EXPECT_TRUE(release(b));
    EXPECT_TRUE(granted(asking(c)));
    busy(asking(d, shared()));
}

TEST_F(name_book_rules, a_waiting_writer_is_not_overtaken_by_readers) {
    ASSERT_TRUE(granted(asking(a, shared())));
    busy(waiting(b));
    busy(waiting(c, shared()));
    busy(asking(d, shared()));
    ASSERT_TRUE(release(a));
    EXPECT_THAT(told, ElementsAre(b));
    ASSERT_TRUE(release(b));
    EXPECT_THAT(told, ElementsAre(c));
}

TEST_F(name_book_rules, all_readers_at_the_head_of_the_line_are_let_in_together) {
    ASSERT_TRUE(granted(asking(a)));
    busy(waiting(b, shared()));
    busy(waiting(c, shared()));
    busy(waiting(d));
    ASSERT_TRUE(release(a));
    EXPECT_THAT(told, ElementsAre(b, c));
    EXPECT_FALSE(holds(d));
}

TEST_F(name_book_rules, an_exclusive_holder_that_becomes_a_shared_one_lets_readers_in) {
    const auto first = acquire(asking(a));
    busy(waiting(b, shared()));
    const auto down = acquire(asking(a, shared()));
    ASSERT_TRUE(down);
    EXPECT_EQ(std::get<answer::granted>(*down).fence, std::get<answer::granted>(*first).fence);
    EXPECT_THAT(told, ElementsAre(b));
    EXPECT_TRUE(holds(a));
    EXPECT_TRUE(holds(b));
}

TEST_F(name_book_rules, a_name_that_is_held_as_another_kind_is_refused_by_both_their_names) {
    ASSERT_TRUE(granted(asking(a, permits(1, 2))));
    EXPECT_EQ(acquire(asking(b, shared())).error().detail,
              "'job' is held as a semaphore: use another name for a shared mutex");
    ASSERT_TRUE(release(a));
    ASSERT_TRUE(granted(asking(a, shared())));
    EXPECT_EQ(acquire(asking(b, permits(1, 2))).error().detail,
              "'job' is held as a shared mutex: use another name for a semaphore");
}

TEST_F(name_book_rules, a_shared_holder_does_not_become_an_exclusive_one) {
    ASSERT_TRUE(granted(asking(a, shared())));
    EXPECT_EQ(acquire(asking(a)).error(), errc::invalid_argument);
    EXPECT_TRUE(holds(a));
}

TEST_F(name_book_rules, no_more_permits_are_held_than_there_are) {
    EXPECT_TRUE(granted(asking(a, permits(2, 3))));
    busy(asking(b, permits(2, 3)));
    EXPECT_TRUE(granted(asking(c, permits(1, 3))));
    busy(asking(d, permits(1, 3)));
    EXPECT_TRUE(release(a));
    EXPECT_TRUE(granted(asking(b, permits(2, 3))));
    busy(asking(d, permits(1, 3)));
}

TEST_F(name_book_rules, one_that_wants_many_permits_is_not_overtaken_by_those_who_want_few) {
    ASSERT_TRUE(granted(asking(a, permits(2, 3))));
    busy(waiting(b, permits(3, 3)));
    busy(waiting(c, permits(1, 3)));
    ASSERT_TRUE(release(a));
    EXPECT_THAT(told, ElementsAre(b));
}

TEST_F(name_book_rules, permits_of_a_dead_holder_come_back) {
    ASSERT_TRUE(granted(asking(a, permits(1, 1))));
    now += 10'000'001;
    EXPECT_TRUE(granted(asking(b, permits(1, 1))));
}

TEST_F(name_book_rules, every_grant_has_a_fence_above_all_that_were_reserved) {
    std::uint64_t last = 0;
    for (int i = 0; i < 5; ++i) {
        const auto who = owner();
        auto asked = asking(who);
        asked.spare_fences = 100;
        const auto reply = acquire(asked);
        const auto fence = std::get<answer::granted>(*reply).fence.value;
        EXPECT_GT(fence, last) << "although no time has passed";
        last = fence + 100;
        ASSERT_TRUE(release(who));
    }
}

TEST_F(name_book_rules, a_waiter_of_another_process_is_handed_the_name_for_a_shorter_claim) {
    ASSERT_TRUE(granted(asking(a)));
    busy(waiting(b), they);
    ASSERT_TRUE(release(a));
    EXPECT_THAT(told, IsEmpty()) << "nobody here can tell it";
    EXPECT_TRUE(holds(b));
    now += name_book::blind_claim + 1;
    EXPECT_FALSE(holds(b)) << "it never looked: it is dead";
    EXPECT_TRUE(granted(asking(c)));
}

TEST_F(name_book_rules, who_waits_behind_another_process_looks_often_at_first_and_then_less) {
    ASSERT_TRUE(granted(asking(a), they));
    const auto first = busy(waiting(b));
    EXPECT_LE(first.poll_after, 2ms);
    duration longest{};
    for (int i = 0; i < 40; ++i) {
        now += 25'000;
        name_book book = open();
        static_cast<void>(book.renew({job, a, {}, 10s}));
        close(book);
        longest = busy(waiting(b)).poll_after;
    }
    EXPECT_GE(longest, 40ms);
    EXPECT_LE(longest, 50ms);
}

TEST_F(name_book_rules, who_waits_behind_its_own_process_is_woken_and_looks_when_a_lease_ends) {
    ASSERT_TRUE(granted(asking(a)));
    EXPECT_EQ(busy(waiting(b)).poll_after, 1s);
    now += 9'500'000;
    EXPECT_EQ(busy(waiting(b)).poll_after, 500ms);
}

TEST_F(name_book_rules, an_evicted_holder_is_told_why_and_may_come_back) {
    ASSERT_TRUE(granted(asking(a)));
    busy(waiting(b));
    name_book book = open();
    EXPECT_EQ(book.evict("the operator said so"), 1U);
    close(book);
    EXPECT_THAT(told, ElementsAre(b));
    book = open();
    const auto lost = book.renew({job, a, {}, 1s});
    EXPECT_EQ(std::get<answer::lost>(lost).reason, "the operator said so");
    busy(waiting(a));
    ASSERT_TRUE(release(b));
    EXPECT_THAT(told, ElementsAre(a));
}

TEST_F(name_book_rules, a_waiter_whose_store_is_gone_is_passed_over) {
    ASSERT_TRUE(granted(asking(a)));
    busy(waiting(b));
    gone = true;
    ASSERT_TRUE(release(a));
    EXPECT_THAT(told, IsEmpty());
    EXPECT_TRUE(granted(asking(c)));
}

}  // namespace
}  // namespace holdfast::sql

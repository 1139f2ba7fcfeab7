// SPDX-License-Identifier: Apache-2.0
#include "core/keeper_book.hpp"
#include "core/validity.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;
constexpr time_point book_start{1h};

struct book_test : testing::Test {
    std::shared_ptr<lease_state> lease(time_point granted = book_start, duration ttl = 30s,
                                       duration max_hold = duration::max()) {
        auto made =
            std::make_shared<lease_state>(*lock_name::make("job"), owner_token::draw(chance),
                                          lease_mode{}, ttl, fencing_token{1});
        made->hold_end = later(granted, max_hold);
        made->deadline = std::min(valid_until(granted, ttl), made->hold_end);
        made->renew_at = renew_at(granted, ttl);
        book.keep(made);
        return made;
    }
    keeper_book::work due(time_point now) { return book.due(now, 1000); }

    seeded_entropy chance{7};
    keeper_book book;
};

TEST_F(book_test, asks_for_a_renewal_at_a_third_of_the_ttl_and_not_before) {
    const auto held = lease();
    EXPECT_EQ(book.next(), book_start + 10s);
    EXPECT_TRUE(due(book_start + 10s - 1ns).empty());
    EXPECT_EQ(due(book_start + 10s).renewals.size(), 1U);
    EXPECT_TRUE(due(book_start + 11s).empty()) << "a renewal on its way is not sent again";
}

TEST_F(book_test, a_lease_that_was_taken_away_is_found_by_its_owner_and_broken_once) {
    const auto other = lease();
    const auto held = lease();
    EXPECT_EQ(book.find(held->owner), held);
    EXPECT_TRUE(book.refused(*held, "make room"));
    EXPECT_EQ(held->reason.load(), loss_reason::evicted);
    EXPECT_EQ(held->loss_text, "make room");
    EXPECT_FALSE(book.refused(*held, "again"));
    EXPECT_EQ(held->loss_text, "make room");
    EXPECT_EQ(book.find(held->owner), nullptr);
    EXPECT_TRUE(book.refused(*other)) << "without a word it was taken";
    EXPECT_EQ(other->reason.load(), loss_reason::missing);
}

TEST_F(book_test, a_renewal_counts_from_the_moment_it_was_sent) {
    const auto held = lease();
    static_cast<void>(due(book_start + 10s));
    book.renewed(*held, 30s, book_start + 14s);
    EXPECT_EQ(held->deadline.load(), valid_until(book_start + 10s, 30s));
    EXPECT_EQ(book.next(), book_start + 20s);
}

TEST_F(book_test, one_that_is_not_renewed_is_asked_after_and_lost_at_its_first_deadline) {
    const auto held = lease();
    held->renews = false;
    const time_point end = valid_until(book_start, 30s);
    ASSERT_EQ(due(book_start + 10s).renewals.size(), 1U);
    EXPECT_EQ(keeper_book::ttl_to_ask(*held, book_start + 10s), (end - book_start - 10s) / 2);
    EXPECT_EQ(book.renewed(*held, 9s, book_start + 10s), 0s);
    EXPECT_EQ(held->deadline.load(), end);
    ASSERT_EQ(due(book_start + 20s).renewals.size(), 1U);
    EXPECT_FALSE(book.not_renewed(*held, book_start + 20s)) << "that is no jeopardy";
    EXPECT_EQ(held->status.load(), lease_status::held);
    EXPECT_EQ(due(end).losses.size(), 1U);
}

TEST_F(book_test, a_renewal_that_its_holder_asked_for_counts_and_never_shortens) {
    const auto held = lease();
    EXPECT_TRUE(book.extended(*held, book_start + 5s, 60s, book_start + 6s));
    EXPECT_EQ(held->deadline.load(), valid_until(book_start + 5s, 60s));
    EXPECT_EQ(book.next(), book_start + 25s);
    EXPECT_TRUE(book.extended(*held, book_start + 7s, 10s, book_start + 8s));
    EXPECT_EQ(held->deadline.load(), valid_until(book_start + 5s, 60s));
    EXPECT_FALSE(book.extended(*held, book_start + 8s, 90s, book_start + 70s)) << "too late";
}

TEST_F(book_test, while_a_downgrade_is_on_its_way_only_the_deadline_and_an_eviction_end_it) {
    const auto held = lease();
    ASSERT_EQ(due(book_start + 10s).renewals.size(), 1U);
    book.begin_turn(*held);
    EXPECT_FALSE(book.refused(*held));
    EXPECT_TRUE(held->ours());
    EXPECT_TRUE(due(book_start + 29s).empty());
    book.end_turn(*held);
    EXPECT_EQ(due(book_start + 29s).renewals.size(), 1U) << "what is due is asked for again";
    book.begin_turn(*held);
    EXPECT_TRUE(book.refused(*held, "make room"));
    const auto other = lease();
    book.begin_turn(*other);
    EXPECT_EQ(due(valid_until(book_start, 30s)).losses.size(), 1U);
}

TEST_F(book_test, a_failed_renewal_is_jeopardy_and_is_tried_again_until_the_deadline) {
    const auto held = lease();
    time_point now = book_start + 10s;
    int tries = 0;
    while (held->ours()) {
        const auto work = due(now);
        tries += static_cast<int>(work.renewals.size());
        if (!work.renewals.empty()) {
            book.not_renewed(*held, now);
            EXPECT_EQ(held->status.load(), lease_status::jeopardy);
        }
        if (held->ours()) now = book.next();
    }
    EXPECT_GE(tries, 10);
    EXPECT_EQ(now, valid_until(book_start, 30s)) << "lost at the deadline: not before, not after";
    EXPECT_EQ(held->reason.load(), loss_reason::expired);
}

TEST_F(book_test, a_failure_that_is_heard_of_after_the_deadline_is_no_jeopardy_but_a_loss) {
    const auto held = lease();
    static_cast<void>(due(book_start + 10s));
    EXPECT_FALSE(book.not_renewed(*held, book_start + 31s));  // the keeper itself was paused
    EXPECT_EQ(due(book_start + 31s).losses.size(), 1U);
}

TEST_F(book_test, jeopardy_ends_with_a_renewal_that_succeeds) {
    const auto held = lease();
    static_cast<void>(due(book_start + 10s));
    book.not_renewed(*held, book_start + 12s);
    static_cast<void>(due(book.next()));
    book.renewed(*held, 30s, book_start + 13s);
    EXPECT_EQ(held->status.load(), lease_status::held);
}

TEST_F(book_test, a_renewal_that_succeeds_after_the_deadline_revives_nothing) {
    const auto held = lease();
    static_cast<void>(due(book_start + 10s));
    const auto work = due(book_start + 31s);
    ASSERT_EQ(work.losses.size(), 1U);
    book.renewed(*held, 30s, book_start + 32s);
    EXPECT_EQ(held->status.load(), lease_status::lost);
    EXPECT_EQ(book.next(), time_point::max());
}

TEST_F(book_test, a_late_answer_does_not_renew_a_deadline_that_has_passed_unnoticed) {
    const auto held = lease();
    static_cast<void>(due(book_start + 10s));
    book.renewed(*held, 30s, book_start + 31s);  // the keeper itself was paused
    EXPECT_EQ(due(book_start + 31s).losses.size(), 1U);
}

TEST_F(book_test, what_the_engine_refuses_is_lost_at_once) {
    const auto held = lease();
    static_cast<void>(due(book_start + 10s));
    EXPECT_TRUE(book.refused(*held));
    EXPECT_FALSE(book.refused(*held));
    EXPECT_EQ(held->reason.load(), loss_reason::missing);
    EXPECT_EQ(book.size(), 0U);
}

TEST_F(book_test, max_hold_ends_a_lease_that_could_be_renewed) {
    const auto held = lease(book_start, 30s, 45s);
    for (const auto at : {10s, 20s, 30s, 40s}) {
        for (const auto& one : due(book_start + at).renewals)
            book.renewed(*one, 30s, book_start + at);
    }
    EXPECT_TRUE(held->ours());
    EXPECT_EQ(due(book_start + 45s).losses.size(), 1U);
    EXPECT_EQ(held->reason.load(), loss_reason::max_hold);
}

TEST_F(book_test, hands_out_no_more_renewals_than_asked_and_the_rest_at_once) {
    std::vector<std::shared_ptr<lease_state>> many;
    for (int i = 0; i < 10; ++i) many.push_back(lease());
    EXPECT_EQ(book.due(book_start + 10s, 4).renewals.size(), 4U);
    EXPECT_LE(book.next(), book_start + 10s);
    EXPECT_EQ(book.due(book_start + 10s, 100).renewals.size(), 6U);
}

TEST_F(book_test, keeps_its_order_through_random_keeping_and_forgetting) {
    std::vector<std::shared_ptr<lease_state>> held;
    for (int i = 0; i < 5000; ++i) {
        const time_point granted = book_start + std::chrono::milliseconds(chance.below(100'000));
        if (held.empty() || chance.below(3) > 0) {
            held.push_back(lease(granted, std::chrono::seconds(1 + chance.below(60))));
        } else {
            std::swap(held[chance.below(held.size())], held.back());
            book.forget(*held.back());
            held.pop_back();
        }
    }
    ASSERT_EQ(book.size(), held.size());
    time_point last = time_point::min();
    std::size_t seen = 0;
    while (book.next() < time_point::max()) {
        EXPECT_GE(book.next(), last);
        last = book.next();
        for (const auto& one : due(last).renewals) {
            book.forget(*one);
            ++seen;
        }
    }
    EXPECT_EQ(seen, held.size());
}

}  // namespace
}  // namespace holdfast::detail

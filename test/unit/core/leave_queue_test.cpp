// SPDX-License-Identifier: Apache-2.0
#include "core/leave_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

struct leave_queue_test : testing::Test {
    static constexpr time_point t0{1h};

    void add(std::size_t count, time_point until = t0 + 30s) {
        for (std::size_t i = 0; i < count; ++i) {
            queue.add({*lock_name::make("job"), owner_token::draw(chance), {}}, until);
        }
    }

    seeded_entropy chance{3};
    leave_queue queue;
};

TEST_F(leave_queue_test, what_is_added_is_due_at_once_and_gone_when_it_is_answered) {
    add(1);
    EXPECT_EQ(queue.next(), time_point::min());
    const auto sent = queue.due(t0);
    EXPECT_EQ(sent.size(), 1U);
    EXPECT_EQ(queue.next(), time_point::max());
    EXPECT_EQ(queue.size(), 1U);
    queue.answered(sent.front(), false, t0);
    EXPECT_EQ(queue.size(), 0U);
}

TEST_F(leave_queue_test, what_failed_is_tried_again_until_its_time_is_over) {
    add(1, t0 + 250ms);
    queue.failed(queue.due(t0).front(), t0);
    EXPECT_EQ(queue.next(), t0 + 200ms);
    EXPECT_TRUE(queue.due(t0 + 199ms).empty());
    queue.failed(queue.due(t0 + 200ms).front(), t0 + 200ms);
    EXPECT_TRUE(queue.due(t0 + 400ms).empty());
    EXPECT_EQ(queue.size(), 0U);
}

TEST_F(leave_queue_test, no_more_are_in_flight_than_its_window_and_none_is_dropped) {
    constexpr std::size_t many = 20'000;
    add(many);
    std::size_t answered = 0;
    while (answered < many) {
        std::vector<leave_queue::handle> in_flight;
        for (auto batch = queue.due(t0); !batch.empty(); batch = queue.due(t0)) {
            EXPECT_LE(batch.size(), leave_queue::most_at_once);
            in_flight.insert(in_flight.end(), batch.begin(), batch.end());
        }
        ASSERT_LE(in_flight.size(), leave_queue::most_in_flight);
        for (const auto& one : in_flight) queue.answered(one, true, t0);
        answered += in_flight.size();
    }
    EXPECT_EQ(queue.size(), 0U);
}

TEST_F(leave_queue_test, what_may_be_carried_out_late_is_left_again_until_it_was_found) {
    queue.add({*lock_name::make("job"), owner_token::draw(chance), {}}, t0 + 30s, 1);
    queue.answered(queue.due(t0).front(), false, t0);
    EXPECT_EQ(queue.size(), 1U);
    EXPECT_EQ(queue.next(), t0 + 1s);
    EXPECT_TRUE(queue.due(t0 + 999ms).empty());
    queue.answered(queue.due(t0 + 1s).front(), true, t0 + 1s);
    EXPECT_EQ(queue.size(), 0U);
}

TEST_F(leave_queue_test, what_may_be_carried_out_late_is_left_for_as_long_as_it_may_come) {
    queue.add({*lock_name::make("job"), owner_token::draw(chance), {}}, t0 + 1500ms, 1);
    queue.answered(queue.due(t0).front(), false, t0);
    queue.answered(queue.due(t0 + 1s).front(), false, t0 + 1s);
    EXPECT_TRUE(queue.due(t0 + 2s).empty());
    EXPECT_EQ(queue.size(), 0U);
}

TEST_F(leave_queue_test, who_closes_sends_what_is_in_doubt_once_more_and_waits_for_no_find) {
    queue.add({*lock_name::make("job"), owner_token::draw(chance), {}}, t0 + 30s, 1);
    queue.answered(queue.due(t0).front(), false, t0);
    queue.hurry();
    queue.answered(queue.due(t0).front(), false, t0);
    EXPECT_EQ(queue.size(), 0U);
}

TEST_F(leave_queue_test, who_closes_does_not_repeat_what_was_only_in_doubt) {
    queue.add_doubt({*lock_name::make("job"), owner_token::draw(chance), {}}, t0 + 30s, 1);
    queue.failed(queue.due(t0).front(), t0);
    queue.hurry();
    queue.failed(queue.due(t0).front(), t0);
    EXPECT_EQ(queue.size(), 0U);
}

}  // namespace
}  // namespace holdfast::detail

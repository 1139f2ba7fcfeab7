// SPDX-License-Identifier: Apache-2.0
#include "core/leave_queue.hpp"

#include <gtest/gtest.h>

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
    EXPECT_EQ(queue.due(t0).size(), 1U);
    EXPECT_EQ(queue.next(), time_point::max());
    EXPECT_EQ(queue.size(), 1U);
    queue.answered();
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
    for (std::size_t in_flight = 0; answered < many;) {
        for (auto batch = queue.due(t0); !batch.empty(); batch = queue.due(t0)) {
            EXPECT_LE(batch.size(), leave_queue::most_at_once);
            in_flight += batch.size();
        }
        ASSERT_LE(in_flight, leave_queue::most_in_flight);
        for (; in_flight > 0; --in_flight, ++answered) queue.answered();
    }
    EXPECT_EQ(queue.size(), 0U);
}

}  // namespace
}  // namespace holdfast::detail

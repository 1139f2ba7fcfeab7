// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_ground.hpp"

#include <holdfast/stock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class stock_test : public cache_test {};

INSTANTIATE_TEST_SUITE_P(engines, stock_test, testing::ValuesIn(cache_engines()), engine_name);

TEST_P(stock_test, never_goes_below_zero) {
    stock tickets(where(), "t", {.prefix = ground_->prefix()});
    EXPECT_FALSE(tickets.take()->taken);
    ASSERT_TRUE(tickets.set(3));
    EXPECT_EQ(tickets.take(2)->left, 1);
    const auto refused = tickets.take(2).value();
    EXPECT_FALSE(refused.taken);
    EXPECT_EQ(refused.left, 1);
    EXPECT_TRUE(tickets.take()->taken);
    EXPECT_FALSE(tickets.take()->taken);
    EXPECT_EQ(tickets.put_back(4).value(), 4);
    EXPECT_EQ(tickets.left().value(), 4);
    EXPECT_GT(raw("PTTL", ground_->prefix() + "t").number(), 0);
}

TEST_P(stock_test, many_buyers_get_exactly_what_there_is) {
    stock tickets(where(), "t", {.prefix = ground_->prefix(), .timeout = 30s});
    ASSERT_TRUE(tickets.set(100));
    std::atomic<int> sold = 0;
    {
        std::vector<std::jthread> buyers;
        for (int i = 0; i < 8; ++i) {
            buyers.emplace_back([&] {
                for (int n = 0; n < 25; ++n) {
                    if (tickets.take().value().taken) ++sold;
                }
            });
        }
    }
    EXPECT_EQ(sold, 100);
    EXPECT_EQ(tickets.left().value(), 0);
}

TEST_P(stock_test, bad_numbers_and_other_values_are_told) {
    stock tickets(where(), "t", {.prefix = ground_->prefix()});
    EXPECT_EQ(tickets.set(-1).error(), errc::invalid_argument);
    EXPECT_EQ(tickets.take(0).error(), errc::invalid_argument);
    EXPECT_EQ(tickets.put_back().error(), errc::lease_lost);
    raw("SET", ground_->prefix() + "t", "text");
    EXPECT_EQ(tickets.take().error(), errc::corrupt);
    EXPECT_EQ(tickets.left().error(), errc::corrupt);
}

TEST_P(stock_test, the_first_who_asks_for_a_value_sets_it) {
    const std::string key = ground_->prefix() + "d";
    EXPECT_EQ(get_or_set(where(), key, "one", 1h).value(), "one");
    EXPECT_EQ(get_or_set(where(), key, "two", 1h).value(), "one");
    EXPECT_GT(raw("PTTL", key).number(), 0);
    EXPECT_EQ(get_or_set(where(), "", "two", 1h).error(), errc::invalid_argument);
    raw("DEL", key);
    raw("RPUSH", key, "x");
    EXPECT_EQ(get_or_set(where(), key, "two", 1h).error(), errc::corrupt);
}

}  // namespace
}  // namespace holdfast::test

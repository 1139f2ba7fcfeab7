// SPDX-License-Identifier: Apache-2.0
//
// What shares a prefix, a key, or both: no limit may meet another, whatever its users choose.
#include "traffic/traffic_ground.hpp"

#include <holdfast/concurrency_limiter.hpp>
#include <holdfast/cooldown.hpp>
#include <holdfast/latch.hpp>
#include <holdfast/once.hpp>
#include <holdfast/rate_limiter.hpp>

#include <gmock/gmock.h>

#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class shared_key : public traffic_test {
protected:
    const std::vector<limit_rule> rules_{fixed_window{.limit = 7, .window = 1h},
                                         sliding_log{.limit = 7, .window = 1h},
                                         sliding_counter{.limit = 7, .window = 1h},
                                         token_bucket{.capacity = 7, .refill = 7, .period = 1h},
                                         leaky_bucket{.drain = 7, .period = 1h, .queue = 6}};
};

TEST_P(shared_key, of_limiters_with_different_rules_is_a_limit_of_its_own_for_each) {
    std::vector<rate_limiter> all;
    for (const limit_rule& rule : rules_) {
        all.emplace_back(where(), rule, rate_limiter_options{.prefix = ground_->prefix()});
    }
    for (std::uint64_t left = 7; left-- > 0;) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto answer = all[i].take("user/42");
            ASSERT_TRUE(answer) << i << ": " << answer.error().detail;
            EXPECT_TRUE(answer->allowed) << i;
            EXPECT_EQ(answer->remaining, left) << i;
        }
    }
    for (rate_limiter& one : all) EXPECT_FALSE(one.take("user/42").value().allowed);
}

TEST_P(shared_key, that_a_user_chose_cannot_be_one_of_a_named_limit) {
    const std::string prefix = ground_->prefix();
    rate_limiter quota(where(),
                       {{"minute", fixed_window{.limit = 60, .window = 1h}},
                        {"day", fixed_window{.limit = 1000, .window = 24h}}},
                       {.prefix = prefix});
    rate_limiter signup(where(), fixed_window{.limit = 100'000, .window = 24h}, {.prefix = prefix});
    ASSERT_EQ(quota.take("alice").value().remaining, 59U);
    for (const auto* key : {"{alice}:day", "{alice}:5:fixed_window:day", "alice", "{alice}",
                            "alice}:5:fixed_window:day", "5:{alice}:day"}) {
        ASSERT_TRUE(signup.take(key, 1000).value().allowed) << key;
    }
    const auto after = quota.take("alice");
    ASSERT_TRUE(after);
    EXPECT_TRUE(after->allowed);
    EXPECT_EQ(after->remaining, 58U);
}

TEST_P(shared_key, of_once_and_cooldown_is_corrupt_for_who_comes_second_and_stays_as_it_is) {
    once processed(where(), {.prefix = ground_->prefix()});
    cooldown rooms(where(), {.window = 1h, .prefix = ground_->prefix()});
    const auto mine = processed.claim("first").value();
    ASSERT_TRUE(mine.first);
    EXPECT_EQ(rooms.take("first").error(), errc::corrupt);
    EXPECT_EQ(rooms.clear("first").error(), errc::corrupt);
    EXPECT_TRUE(processed.record(mine, "done"));
    EXPECT_EQ(rooms.clear("first").error(), errc::corrupt);
    EXPECT_EQ(processed.claim("first").value().recorded, "done");

    ASSERT_TRUE(rooms.take("second").value().allowed);
    EXPECT_EQ(processed.claim("second").error(), errc::corrupt);
    EXPECT_FALSE(rooms.take("second").value().allowed);
    ASSERT_TRUE(rooms.clear("second"));
    EXPECT_TRUE(rooms.take("second").value().allowed);
}

TEST_P(shared_key, of_permits_a_latch_a_log_and_a_mark_is_each_ones_own) {
    const std::string prefix = ground_->prefix();
    rate_limiter log(where(), sliding_log{.limit = 2, .window = 1h}, {.prefix = prefix});
    concurrency_limiter permits(where(), {.permits = 2, .ttl = 1h, .prefix = prefix});
    latch gate(where(), "k", 2, {.prefix = prefix});
    once mark(where(), {.prefix = prefix});
    for (int round = 0; round < 2; ++round) {
        EXPECT_TRUE(log.take("k").value().allowed);
        auto inside = permits.enter("k").value();
        EXPECT_TRUE(inside.answer.allowed);
        EXPECT_EQ(inside.answer.remaining, 1U);
        EXPECT_TRUE(std::move(*inside.held).release());
        EXPECT_EQ(gate.count_down(), 1U - static_cast<unsigned>(round));
        EXPECT_EQ(mark.claim("k").value().first, round == 0);
    }
    EXPECT_FALSE(log.take("k").value().allowed);
}

INSTANTIATE_TEST_SUITE_P(engines, shared_key, testing::ValuesIn(traffic_engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "support/wait_for.hpp"
#include "traffic/limit_plan.hpp"
#include "traffic/traffic_ground.hpp"

#include <holdfast/concurrency_limiter.hpp>
#include <holdfast/rate_limiter.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class rate_limiter_conformance : public traffic_test {
protected:
    rate_limiter make(limit_rule rule, rate_limiter_options options = {}) {
        options.prefix = ground_->prefix();
        return {where(), rule, std::move(options)};
    }
};

TEST_P(rate_limiter_conformance, a_refused_take_costs_nothing) {
    auto limiter = make(sliding_log{.limit = 3, .window = 10s}, {.remembered_keys = 0});
    EXPECT_EQ(limiter.take("k", 2).value().remaining, 1U);
    for (int i = 0; i < 5; ++i) EXPECT_FALSE(limiter.take("k", 2).value().allowed);
    EXPECT_TRUE(limiter.take("k", 1).value().allowed);
}

TEST_P(rate_limiter_conformance, more_than_there_ever_is_gets_never_and_not_later) {
    const std::vector<limit_rule> rules{
        fixed_window{.limit = 5, .window = 1s}, sliding_log{.limit = 5, .window = 1s},
        sliding_counter{.limit = 5, .window = 1s}, token_bucket{.capacity = 5, .refill = 1},
        leaky_bucket{.drain = 5, .queue = 4}};
    for (const auto& rule : rules) {
        auto limiter = make(rule);
        const std::string key = "never" + std::to_string(rule.index());
        for (const std::uint64_t n : {std::uint64_t{6}, ~std::uint64_t{0}}) {
            const auto refused = limiter.take(key, n).value();
            EXPECT_FALSE(refused.allowed);
            EXPECT_EQ(refused.retry_after, decision::never);
        }
        EXPECT_EQ(limiter.statistics().asked, 0U);
        EXPECT_TRUE(limiter.take(key, 5).value().allowed);
    }
}

TEST_P(rate_limiter_conformance, a_hot_refused_key_is_remembered_and_costs_no_trip) {
    auto limiter = make(token_bucket{.capacity = 2, .refill = 10, .period = 1s});
    EXPECT_TRUE(limiter.take("k", 2).value().allowed);
    const auto first = limiter.take("k").value();
    EXPECT_FALSE(first.allowed);
    EXPECT_EQ(first.source, decided_by::engine);
    const auto asked = limiter.statistics().asked;
    const auto again = limiter.take("k", 2).value();
    EXPECT_EQ(again.source, decided_by::memory);
    EXPECT_LE(again.retry_after, first.retry_after);
    EXPECT_EQ(limiter.statistics().asked, asked);
    ground_->pass(first.retry_after + 1ms);
    EXPECT_TRUE(limiter.take("k").value().allowed);
}

TEST_P(rate_limiter_conformance, less_than_what_was_refused_is_asked_for) {
    auto limiter = make(fixed_window{.limit = 10, .window = 10s});
    EXPECT_TRUE(limiter.take("k", 8).value().allowed);
    EXPECT_FALSE(limiter.take("k", 5).value().allowed);
    EXPECT_TRUE(limiter.take("k", 2).value().allowed);
}

TEST_P(rate_limiter_conformance, what_is_given_back_can_be_taken_again) {
    for (const limit_rule& rule :
         {limit_rule(fixed_window{.limit = 4, .window = 10s}),
          limit_rule(sliding_log{.limit = 4, .window = 10s}),
          limit_rule(sliding_counter{.limit = 4, .window = 100s}),
          limit_rule(token_bucket{.capacity = 4, .refill = 1, .period = 100s})}) {
        auto limiter = make(rule);
        const std::string key = "refund" + std::to_string(rule.index());
        EXPECT_TRUE(limiter.take(key, 4).value().allowed);
        EXPECT_FALSE(limiter.take(key, 3).value().allowed);
        EXPECT_EQ(limiter.refund(key, 3).value().remaining, 3U);
        EXPECT_EQ(limiter.peek(key, 3).value().allowed, true);
        EXPECT_TRUE(limiter.take(key, 3).value().allowed);
        EXPECT_TRUE(limiter.refund(key, 2));
        EXPECT_EQ(limiter.refund(key, 4).value().remaining, 4U) << "not more than was taken";
        EXPECT_EQ(limiter.refund(key, 5).error(), errc::invalid_argument);
        EXPECT_EQ(limiter.refund(key, static_cast<std::uint64_t>(-1)).error(),
                  errc::invalid_argument);
    }
}

TEST_P(rate_limiter_conformance, a_cost_above_capacity_is_never_allowed_whatever_is_remembered) {
    auto limiter = make(token_bucket{.capacity = 10, .refill = 10, .period = 1000s});
    EXPECT_TRUE(limiter.take("k", 10).value().allowed);
    EXPECT_NE(limiter.take("k").value().retry_after, decision::never);
    EXPECT_EQ(limiter.take("k").value().source, decided_by::memory);
    EXPECT_EQ(limiter.take("k", 11).value().retry_after, decision::never);
}

TEST_P(rate_limiter_conformance, a_leaky_bucket_reserves_no_later_than_one_would_wait) {
    auto limiter = make(leaky_bucket{.drain = 1, .period = 100s, .queue = 20});
    EXPECT_TRUE(limiter.take("q", 6).value().allowed);
    EXPECT_GT(limiter.peek("q").value().delay, 500s) << "as take() would say";
    EXPECT_FALSE(limiter.reserve("q", 1, 0s).value().allowed);
    EXPECT_FALSE(limiter.reserve("q", 1, 300s).value().allowed);
    const auto turn = limiter.reserve("q", 1, 1000s).value();
    EXPECT_TRUE(turn.allowed);
    EXPECT_LE(turn.delay, 600s);
    EXPECT_EQ(limiter.reserve("q", 22, 10'000s).value().retry_after, decision::never)
        << "the queue is as long for all";
}

TEST_P(rate_limiter_conformance, what_a_block_gives_back_is_seen_by_who_was_refused) {
    rate_limiter limiter(where(), fixed_window{.limit = 100, .window = 1000s},
                         {.prefix = ground_->prefix(), .block = 60});
    EXPECT_TRUE(limiter.take("k").value().allowed);
    EXPECT_FALSE(limiter.take("k", 61).value().allowed);
    EXPECT_TRUE(limiter.return_blocks());
    EXPECT_TRUE(limiter.take("k", 61).value().allowed);
}

TEST_P(rate_limiter_conformance, what_is_given_back_too_late_is_not_given) {
    for (const limit_rule& rule :
         {limit_rule(fixed_window{.limit = 40, .window = 1000s}),
          limit_rule(sliding_counter{.limit = 40, .window = 1000s}),
          limit_rule(token_bucket{.capacity = 40, .refill = 1, .period = 1000s})}) {
        auto limiter = make(rule);
        const std::string key = "late" + std::to_string(rule.index());
        ASSERT_TRUE(limiter.take(key, 40).value().allowed);
        const detail::limit_plan plan(rule);
        const auto name = detail::kept_key(ground_->prefix(), key, plan.kept_as());
        auto& engine = *where().engine();
        const auto give = [&](std::int64_t until) {
            detail::script_call q(plan.body(), 1, repeat::never);
            q.word(name.view());
            plan.put_own(q, detail::limit_op::give, 10, {.until = until});
            const auto said = engine.execute(q.as_command(), engine.time().now() + 20s);
            ASSERT_TRUE(said) << to_string(said.error());
            EXPECT_TRUE(plan.read(*said, detail::limit_op::give, 10, {}));
        };
        give(1);
        EXPECT_FALSE(limiter.peek(key, 1).value().allowed) << key;
        give(std::int64_t{1} << 52);
        EXPECT_TRUE(limiter.peek(key, 10).value().allowed) << key;
    }
}

TEST_P(rate_limiter_conformance, a_key_of_another_kind_takes_from_none_of_several_limits) {
    rate_limiter limiter(where(),
                         {{"a", fixed_window{.limit = 6, .window = 1000s}},
                          {"z", sliding_log{.limit = 8, .window = 1000s}}},
                         {.prefix = ground_->prefix()});
    auto& engine = *where().engine();
    const auto soon = [&] { return engine.time().now() + 20s; };
    const auto key = detail::kept_key(ground_->prefix(), "w", detail::kept::sliding_log, "z");
    ASSERT_TRUE(engine.execute(words("SET", key.view(), "of another program"), soon()));
    for (int i = 0; i < 3; ++i) EXPECT_EQ(limiter.take("w").error(), errc::corrupt);
    ASSERT_TRUE(engine.execute(words("DEL", key.view()), soon()));
    EXPECT_EQ(limiter.take("w", 6).value().allowed, true) << "nothing was taken";
}

TEST_P(rate_limiter_conformance, a_reservation_is_one_trip_and_tells_the_delay) {
    auto limiter = make(token_bucket{.capacity = 1, .refill = 10, .period = 1s});
    EXPECT_EQ(limiter.reserve("k", 1, 1s).value().delay, 0ms);
    const auto second = limiter.reserve("k", 1, 1s).value();
    EXPECT_TRUE(second.allowed);
    EXPECT_GT(second.delay, 0ms);
    EXPECT_LE(second.delay, 100ms);
    const auto third = limiter.reserve("k", 1, 10ms).value();
    EXPECT_FALSE(third.allowed);
    EXPECT_GT(third.retry_after, 0ms);
    EXPECT_EQ(limiter.statistics().asked, 3U);
    EXPECT_EQ(limiter.reserve("k", 12, 1s).value().retry_after, decision::never);
    auto windowed = make(fixed_window{.limit = 1, .window = 1s});
    EXPECT_EQ(windowed.reserve("k", 1, 1s).error(), errc::unsupported);
}

TEST_P(rate_limiter_conformance, a_leaky_bucket_gives_each_its_turn_and_refuses_when_full) {
    auto limiter = make(leaky_bucket{.drain = 10, .period = 1s, .queue = 2});
    EXPECT_EQ(limiter.take("q").value().delay, 0ms);
    EXPECT_GT(limiter.take("q").value().delay, 50ms);
    EXPECT_GT(limiter.take("q").value().delay, 150ms);
    EXPECT_FALSE(limiter.take("q").value().allowed);
}

TEST_P(rate_limiter_conformance, several_limits_allow_together_or_take_from_none) {
    rate_limiter limiter(where(),
                         {{"burst", token_bucket{.capacity = 10, .refill = 10, .period = 100s}},
                          {"minute", fixed_window{.limit = 6, .window = 60s}},
                          {"log", sliding_log{.limit = 8, .window = 30s}},
                          {"hour", sliding_counter{.limit = 7, .window = 3600s}}},
                         {.prefix = ground_->prefix(), .remembered_keys = 0});
    const auto first = limiter.take("user/1", 5).value();
    EXPECT_TRUE(first.allowed);
    EXPECT_EQ(first.binding, "minute");
    EXPECT_EQ(first.remaining, 1U);
    const auto refused = limiter.take("user/1", 3).value();
    EXPECT_FALSE(refused.allowed);
    EXPECT_EQ(refused.binding, "hour");  // makes it wait longest
    // Nothing was taken from those that would have allowed.
    const auto rest = limiter.take("user/1", 1).value();
    EXPECT_TRUE(rest.allowed);
    EXPECT_EQ(limiter.take("user/1", 1).value().binding, "minute");
    EXPECT_EQ(limiter.take("user/1", 7).value().retry_after, decision::never);
    EXPECT_EQ(limiter.refund("user/1", 2).value().allowed, true);
    EXPECT_TRUE(limiter.peek("user/1", 2).value().allowed);
    EXPECT_TRUE(limiter.take("user/1", 2).value().allowed);
}

TEST_P(rate_limiter_conformance, a_key_of_another_kind_is_corrupt_and_stays_as_it_is) {
    const std::vector<limit_rule> rules{
        fixed_window{.limit = 1, .window = 1s},    sliding_log{.limit = 1, .window = 1s},
        sliding_counter{.limit = 1, .window = 1s}, token_bucket{.capacity = 1, .refill = 1},
        token_bucket{.capacity = 3, .refill = 7},  leaky_bucket{.drain = 1}};
    for (const limit_rule& rule : rules) {
        auto limiter = make(rule, {.remembered_keys = 0});
        const auto text =
            detail::kept_key(ground_->prefix(), "k", detail::limit_plan(rule).kept_as());
        const std::string key(text.view());
        const auto refuses = [&] {
            EXPECT_EQ(limiter.take("k").error(), errc::corrupt) << key;
            EXPECT_EQ(limiter.peek("k").error(), errc::corrupt) << key;
            EXPECT_EQ(limiter.refund("k").error(), errc::corrupt) << key;
        };
        for (const auto* value : {"hello", "-5", "7000000000", "99999999999999999"}) {
            raw("SET", key, value);
            refuses();
            EXPECT_EQ(raw("GET", key).text(), value);
            EXPECT_EQ(raw("PTTL", key).number(), -1);
        }
        raw("DEL", key);
        raw("ZADD", key, 5, "of another program");
        refuses();
        EXPECT_EQ(raw("ZCARD", key).number(), 1);
        raw("DEL", key);
    }
}

TEST_P(rate_limiter_conformance, nothing_stays_behind_when_its_time_is_over) {
    const std::vector<limit_rule> rules{fixed_window{.limit = 5, .window = 50ms},
                                        sliding_log{.limit = 5, .window = 50ms},
                                        sliding_counter{.limit = 5, .window = 50ms},
                                        token_bucket{.capacity = 5, .refill = 5, .period = 50ms},
                                        token_bucket{.capacity = 3, .refill = 7, .period = 50ms}};
    for (const auto& rule : rules) {
        auto limiter = make(rule);
        const auto key =
            detail::kept_key(ground_->prefix(), "gone", detail::limit_plan(rule).kept_as());
        EXPECT_TRUE(limiter.take("gone", 3).value().allowed);
        EXPECT_GE(raw("PTTL", key.view()).number(), 0);
        ground_->pass(60ms);
        EXPECT_EQ(raw("EXISTS", key.view()).number(), 0);
    }
}

TEST_P(rate_limiter_conformance, blocks_are_spent_without_a_trip_and_never_above_the_limit) {
    for (const limit_rule& rule :
         {limit_rule(fixed_window{.limit = 1000, .window = 1000s}),
          limit_rule(sliding_counter{.limit = 1000, .window = 1000s}),
          limit_rule(token_bucket{.capacity = 1000, .refill = 1, .period = 1000s})}) {
        const std::string key = "hot" + std::to_string(rule.index());
        auto here = make(rule, {.block = 100});
        auto there = make(rule, {.block = 70});
        int allowed = 0;
        for (int i = 0; i < 2000; ++i) {
            if (here.take(key).value().allowed) ++allowed;
            if (there.take(key).value().allowed) ++allowed;
        }
        EXPECT_LE(allowed, 1000);
        // What a bucket refills during block_life cannot be taken as a block, only one by one.
        EXPECT_GE(allowed, 999);
        EXPECT_LT(here.statistics().asked + there.statistics().asked, 200U);
        EXPECT_GT(here.statistics().from_block, 300U);
    }
}

TEST_P(rate_limiter_conformance, threads_that_ask_together_are_answered_as_one_after_the_other) {
    constexpr std::uint64_t limit = 600;
    for (const limit_rule& rule :
         {limit_rule(fixed_window{.limit = limit, .window = 1000s}),
          limit_rule(sliding_log{.limit = limit, .window = 1000s}),
          limit_rule(sliding_counter{.limit = limit, .window = 1000s}),
          limit_rule(token_bucket{.capacity = limit, .refill = 1, .period = 1000s}),
          limit_rule(leaky_bucket{.drain = 1, .period = 1000s, .queue = limit - 1})}) {
        const std::string key = "many" + std::to_string(rule.index());
        auto limiter = make(rule, {.remembered_keys = 0});
        std::mutex guard;
        std::vector<std::uint64_t> remaining;
        {
            std::vector<std::jthread> threads;
            for (int t = 0; t < 8; ++t) {
                threads.emplace_back([&] {
                    for (;;) {
                        const auto made = limiter.take(key).value();
                        if (!made.allowed) return;
                        const std::scoped_lock held(guard);
                        remaining.push_back(made.remaining);
                    }
                });
            }
        }
        std::ranges::sort(remaining);
        std::vector<std::uint64_t> each(limit);
        std::iota(each.begin(), each.end(), 0U);
        EXPECT_EQ(remaining, each) << "all of it was given, and nothing to two of them";
    }
}

TEST_P(rate_limiter_conformance, what_is_left_of_a_block_goes_back) {
    const token_bucket rule{.capacity = 100, .refill = 1, .period = 100s};
    auto limiter = make(rule, {.block = 50, .block_life = 10s});
    EXPECT_TRUE(limiter.take("k", 20).value().allowed);
    auto other = make(rule, {.remembered_keys = 0});
    EXPECT_FALSE(other.take("k", 60).value().allowed);
    ASSERT_TRUE(limiter.return_blocks());
    EXPECT_EQ(limiter.statistics().given_back, 30U);
    EXPECT_TRUE(other.take("k", 60).value().allowed);
}

TEST_P(rate_limiter_conformance, threads_that_share_a_block_admit_exactly_the_limit) {
    auto limiter = make(fixed_window{.limit = 5000, .window = 1000s}, {.block = 64});
    std::atomic<int> allowed = 0;
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 8; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 1000; ++i) {
                    if (limiter.take("k").value().allowed) ++allowed;
                }
            });
        }
    }
    EXPECT_EQ(allowed, 5000);
}

class permits_conformance : public traffic_test {};

TEST_P(permits_conformance, no_more_than_the_permits_are_at_work_and_a_lost_one_comes_back) {
    concurrency_limiter workers(
        where(), {.permits = 2, .ttl = 200ms, .prefix = ground_->prefix(), .timeout = 5s});
    auto a = workers.enter("w").value();
    auto b = workers.enter("w").value();
    ASSERT_TRUE(a.held && b.held);
    EXPECT_TRUE(a.held->held());
    const auto refused = workers.enter("w").value();
    EXPECT_FALSE(refused.answer.allowed);
    EXPECT_FALSE(refused.held.has_value());
    EXPECT_GT(refused.answer.retry_after, 0ms);
    EXPECT_LE(refused.answer.retry_after, 200ms);
    EXPECT_TRUE(std::move(*a.held).release());
    auto c = workers.enter("w").value();
    EXPECT_TRUE(c.answer.allowed);
    EXPECT_EQ(c.answer.remaining, 0U);
    ground_->pass(100ms);
    EXPECT_TRUE(c.held->renew());
    ground_->pass(120ms);  // b was never heard of again
    EXPECT_TRUE(workers.enter("w").value().answer.allowed);
    EXPECT_EQ(b.held->renew().error(), errc::lease_lost);
    EXPECT_TRUE(c.held->held());
}

TEST_P(permits_conformance, a_key_of_another_kind_is_corrupt_and_stays_as_it_is) {
    concurrency_limiter limiter(where(), {.permits = 2, .prefix = ground_->prefix()});
    const auto text = detail::kept_key(ground_->prefix(), "k", detail::kept::permits);
    const std::string key(text.view());
    raw("ZADD", key, 5, "of another program");
    EXPECT_EQ(limiter.enter("k").error(), errc::corrupt);
    EXPECT_EQ(raw("ZCARD", key).number(), 1);
}

TEST_P(permits_conformance, a_permit_that_goes_out_of_scope_is_given_back) {
    concurrency_limiter workers(where(), {.permits = 1, .prefix = ground_->prefix()});
    {
        EXPECT_TRUE(workers.enter("w").value().answer.allowed);
    }
    // In the background: in a cluster the next request may go before it.
    test::wait_for("it to come back", [&] { return workers.enter("w").value().answer.allowed; });
    EXPECT_EQ(concurrency_limiter(where(), {.permits = 0}).enter("w").error(),
              errc::invalid_argument);
    EXPECT_EQ(concurrency_limiter(where(), {.permits = 1, .ttl = 1ms}).enter("w").error(),
              errc::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(engines, rate_limiter_conformance, testing::ValuesIn(traffic_engines()),
                         [](const auto& engine) { return engine.param.name; });
INSTANTIATE_TEST_SUITE_P(engines, permits_conformance, testing::ValuesIn(traffic_engines()),
                         [](const auto& engine) { return engine.param.name; });

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "traffic/limit_plan.hpp"

#include <holdfast/holdfast.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gmock/gmock.h>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(limit_rules, zero_negative_and_huge_numbers_are_refused_with_what_they_take) {
    const auto minus_one = static_cast<std::uint64_t>(-1);
    const std::vector<limit_rule> bad{
        fixed_window{},
        fixed_window{.limit = 0, .window = 1s},
        fixed_window{.limit = minus_one, .window = 1s},
        fixed_window{.limit = 1'000'000'001, .window = 1s},
        fixed_window{.limit = 1, .window = 0s},
        fixed_window{.limit = 1, .window = -1s},
        fixed_window{.limit = 1, .window = 999us},
        fixed_window{.limit = 1, .window = std::chrono::days(367)},
        fixed_window{.limit = 1, .window = duration::max()},
        sliding_log{.limit = 100'001, .window = 1s},
        sliding_counter{.limit = 1, .window = 1s, .parts = 0},
        sliding_counter{.limit = 1, .window = 1s, .parts = 101},
        token_bucket{.capacity = 0, .refill = 1},
        token_bucket{.capacity = 1, .refill = 0},
        token_bucket{.capacity = 1, .refill = 1, .period = 10us},
        token_bucket{.capacity = 1'000'000'000, .refill = 1, .period = 24h},
        leaky_bucket{.drain = 0},
        leaky_bucket{.drain = 1, .period = 1s, .queue = minus_one},
    };
    for (const limit_rule& rule : bad) {
        const auto checked = check(rule);
        ASSERT_FALSE(checked) << rule.index();
        EXPECT_EQ(checked.error(), errc::invalid_argument);
        EXPECT_FALSE(checked.error().detail.empty());
    }
    EXPECT_THAT(check(fixed_window{.limit = 0, .window = 1s}).error().detail,
                HasSubstr("limit is 0: give it 1 to 1000000000"));
}

TEST(limit_rules, a_limiter_with_a_bad_rule_says_so_at_the_first_call) {
    auto hf = open("memory:").value();
    rate_limiter broken(hf, token_bucket{.capacity = 0, .refill = 1});
    EXPECT_EQ(broken.take("k").error(), errc::invalid_argument);
    EXPECT_EQ(broken.peek("k").error(), errc::invalid_argument);
    rate_limiter good(hf, token_bucket{.capacity = 1, .refill = 1});
    EXPECT_EQ(good.take("k", 0).error(), errc::invalid_argument);
    EXPECT_EQ(good.take("").error(), errc::invalid_argument);
    EXPECT_EQ(good.reserve("k", 1, -1s).error(), errc::invalid_argument);
    EXPECT_EQ(rate_limiter(hf, std::vector<limit>{}).take("k").error(), errc::invalid_argument);
    EXPECT_THAT(rate_limiter(hf, {{"a b", fixed_window{.limit = 1, .window = 1s}}})
                    .take("k")
                    .error()
                    .detail,
                HasSubstr("name"));
    EXPECT_THAT(rate_limiter(hf, {{"a", fixed_window{.limit = 1, .window = 1s}},
                                  {"a", fixed_window{.limit = 2, .window = 1s}}})
                    .take("k")
                    .error()
                    .detail,
                HasSubstr("two limits are called 'a'"));
}

TEST(limit_rules, a_block_that_could_never_be_granted_is_refused) {
    auto hf = open("memory:").value();
    const auto told = [&](limit_rule rule, rate_limiter_options options) {
        return rate_limiter(hf, rule, std::move(options)).take("k");
    };
    EXPECT_EQ(told(token_bucket{.capacity = 10, .refill = 100}, {.block = 5}).error(),
              errc::invalid_argument);
    EXPECT_EQ(told(sliding_log{.limit = 10, .window = 1s}, {.block = 5}).error(),
              errc::invalid_argument);
    EXPECT_EQ(told(fixed_window{.limit = 10, .window = 1s}, {.block = 11}).error(),
              errc::invalid_argument);
    EXPECT_EQ(
        told(fixed_window{.limit = 10, .window = 1s}, {.remembered_keys = 0, .block = 5}).error(),
        errc::invalid_argument);
    EXPECT_TRUE(told(token_bucket{.capacity = 20, .refill = 100}, {.block = 5}));
}

TEST(limit_rules, any_rate_is_exact_or_slower_by_less_than_a_millionth) {
    for (const token_bucket& rule :
         {token_bucket{.capacity = 3, .refill = 3, .period = 1s},
          token_bucket{.capacity = 1'000'000'000, .refill = 999'999'937, .period = 1s},
          token_bucket{.capacity = 999'983, .refill = 999'983, .period = 24h},
          token_bucket{.capacity = 1, .refill = 1, .period = std::chrono::days(366)}}) {
        const detail::limit_plan plan(rule);
        const double wanted = std::chrono::duration<double>(rule.period).count() *
                              static_cast<double>(rule.capacity) / static_cast<double>(rule.refill);
        const auto emptied =
            plan.read(reply::integer(0), detail::limit_op::take, rule.capacity, {});
        const double got = std::chrono::duration<double>(emptied.value().reset_after).count();
        EXPECT_GE(got, wanted * (1 - 1e-9));
        EXPECT_LE(got, wanted * (1 + 1e-6) + 1e-6);
    }
}

TEST(limit_rules, who_waits_as_long_as_it_was_told_is_allowed_and_not_a_millisecond_sooner) {
    const std::vector<limit_rule> rules{
        fixed_window{.limit = 7, .window = 100ms},
        sliding_log{.limit = 7, .window = 100ms},
        sliding_counter{.limit = 7, .window = 100ms},
        sliding_counter{.limit = 7, .window = 100ms, .mode = counting::unbiased},
        token_bucket{.capacity = 7, .refill = 7, .period = 100ms},
        leaky_bucket{.drain = 7, .period = 100ms, .queue = 6}};
    seeded_entropy chance(3);
    for (const limit_rule& rule : rules) {
        virtual_clock time;
        auto hf = open("memory:", {.time = &time}).value();
        rate_limiter limiter(hf, rule, {.remembered_keys = 0});
        int waits = 0;
        for (int i = 0; i < 2000; ++i) {
            time.advance(std::chrono::microseconds(chance.below(9000)));
            const std::uint64_t n = 1 + chance.below(4);
            const auto first = limiter.take("k", n).value();
            if (first.allowed) continue;
            ++waits;
            if (first.retry_after > 1ms) {
                time.advance(first.retry_after - 1ms);
                EXPECT_FALSE(limiter.peek("k", n).value().allowed) << rule.index();
                time.advance(1ms);
            } else {
                time.advance(first.retry_after);
            }
            ASSERT_TRUE(limiter.take("k", n).value().allowed) << rule.index() << " step " << i;
        }
        EXPECT_GT(waits, 100);
    }
}

TEST(limit_rules, the_book_of_refusals_is_bounded) {
    virtual_clock time;
    auto hf = open("memory:", {.time = &time}).value();
    rate_limiter limiter(hf, fixed_window{.limit = 1, .window = 1h}, {.remembered_keys = 64});
    for (int i = 0; i < 1000; ++i) {
        static_cast<void>(limiter.take("k" + std::to_string(i)));
        static_cast<void>(limiter.take("k" + std::to_string(i)));
    }
    EXPECT_LE(limiter.statistics().remembered_now, 64U);
    EXPECT_EQ(limiter.statistics().refused, 1000U);
}

// Two processes with blocks, in virtual time, for as long as many blocks live: what both admit must
// keep the promise of the bucket in every interval.
TEST(token_blocks, of_a_bucket_keep_its_promise_over_time) {
    virtual_clock time;
    auto here = open("memory:blocks", {.time = &time}).value();
    auto there = open("memory:blocks", {.time = &time}).value();
    const token_bucket rule{.capacity = 200, .refill = 1000, .period = 1s};
    rate_limiter a(here, rule, {.block = 50, .block_life = 50ms});
    rate_limiter b(there, rule, {.block = 30, .block_life = 100ms});
    seeded_entropy chance(7);
    double admitted = 0;
    double lowest = 0;
    const time_point start = time.now();
    for (int i = 0; i < 200'000; ++i) {
        time.advance(std::chrono::microseconds(chance.below(900)));
        if (chance.below(1000) == 0) time.advance(150ms);
        const std::uint64_t n = 1 + chance.below(3);
        auto& one = chance.below(2) == 0 ? a : b;
        if (!one.take("k", n).value().allowed) continue;
        const double steady = 1000 * std::chrono::duration<double>(time.now() - start).count();
        lowest = std::min(lowest, admitted - steady);
        admitted += static_cast<double>(n);
        ASSERT_LE(admitted - steady - lowest, 200 + 1e-6) << "step " << i;
    }
    EXPECT_GT(a.statistics().from_block + b.statistics().from_block, 10'000U);
    EXPECT_GT(a.statistics().refused + b.statistics().refused, 10'000U);
}

TEST(token_blocks, of_windows_keep_their_limit_over_time) {
    for (const bool sliding : {false, true}) {
        virtual_clock time;
        auto here = open("memory:", {.time = &time}).value();
        limit_rule rule = fixed_window{.limit = 100, .window = 1s};
        if (sliding) rule = sliding_counter{.limit = 100, .window = 1s};
        rate_limiter a(here, rule, {.block = 20});
        rate_limiter b(here, rule, {.block = 7});
        seeded_entropy chance(7);
        std::vector<time_point> admitted;
        for (int i = 0; i < 50'000; ++i) {
            time.advance(std::chrono::microseconds(chance.below(9000)));
            auto& one = chance.below(2) == 0 ? a : b;
            if (!one.take("k").value().allowed) continue;
            admitted.push_back(time.now());
            const std::size_t most = sliding ? 100 : 200;
            if (admitted.size() > most) {
                ASSERT_GE(admitted.back() - admitted[admitted.size() - 1 - most], 1s) << i;
            }
        }
        EXPECT_GT(a.statistics().from_block, 1000U);
    }
}

TEST(rate_limit_headers, are_the_two_fields_of_the_draft_and_retry_after) {
    const std::vector<limit> limits{
        {"minute", fixed_window{.limit = 100, .window = 60s}},
        {"burst", token_bucket{.capacity = 10, .refill = 4, .period = 1s}}};
    using field = std::pair<std::string, std::string>;
    decision refused{.limit = 100, .remaining = 0, .retry_after = 29500ms};
    refused.binding = "minute";
    EXPECT_THAT(rate_limit_headers(refused, limits),
                testing::ElementsAre(
                    field("RateLimit-Policy", R"("minute";q=100;w=60, "burst";q=10;w=3)"),
                    field("RateLimit", R"("minute";r=0;t=30)"), field("Retry-After", "30")));
    decision allowed{.allowed = true, .limit = 10, .remaining = 9, .reset_after = 1ms};
    allowed.binding = "burst";
    EXPECT_EQ(rate_limit_headers(allowed, limits).at(1), field("RateLimit", R"("burst";r=9;t=1)"));
    EXPECT_EQ(rate_limit_headers(allowed, limits).size(), 2U);
    refused.retry_after = decision::never;
    EXPECT_EQ(rate_limit_headers(refused, limits).size(), 2U);
}

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include "traffic/model_duel.hpp"

#include "core/overloaded.hpp"
#include "traffic/promise_check.hpp"

#include <holdfast/entropy.hpp>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t key_count = 2;

std::string shown(const decision& d) {
    return fmt::format("{} limit {} remaining {} retry {} reset {} delay {}",
                       d.allowed ? "allowed" : "refused", d.limit, d.remaining,
                       d.retry_after.count(), d.reset_after.count(), d.delay.count());
}

bool same(const decision& a, const decision& b) {
    return a.allowed == b.allowed && a.limit == b.limit && a.remaining == b.remaining &&
           a.retry_after == b.retry_after && a.reset_after == b.reset_after && a.delay == b.delay;
}

/// Mostly short steps, sometimes one of a window's size: bursts, steady traffic and silence.
std::int64_t draw_step(entropy& chance, const limit_rule& rule) {
    const std::int64_t window =
        std::chrono::floor<std::chrono::microseconds>(window_of(rule)).count();
    const auto each = window / static_cast<std::int64_t>(capacity_of(rule)) + 1;
    const auto below = [&](std::int64_t most) {
        return static_cast<std::int64_t>(chance.below(static_cast<std::uint64_t>(most) + 1));
    };
    const std::uint64_t kind = chance.below(100);
    if (kind < 30) return 0;
    if (kind < 45) return below(3);
    if (kind < 97) return below(2 * each);
    if (kind < 99) return below(window / 4);
    return below(2 * window);
}

struct operation {
    model_op op;
    std::size_t key;
    std::uint64_t n;
};

operation draw_operation(entropy& chance, std::uint64_t capacity, bool gives) {
    operation drawn{model_op::take, chance.below(key_count), 1};
    const std::uint64_t kind = chance.below(100);
    if (kind < 8) drawn.op = model_op::look;
    if (gives && kind >= 90) drawn.op = model_op::give;
    if (chance.below(5) < 2) {
        drawn.n = 1 + chance.below(std::min(capacity, std::max<std::uint64_t>(10, capacity / 4)));
    }
    if (chance.below(200) == 0) drawn.n = capacity;
    return drawn;
}

result<decision> carry_out(rate_limiter& limiter, const operation& wanted) {
    const std::string key = fmt::format("k{}", wanted.key);
    switch (wanted.op) {
        case model_op::take: return limiter.take(key, wanted.n);
        case model_op::look: return limiter.peek(key, wanted.n);
        case model_op::give: return limiter.refund(key, wanted.n);
    }
    std::abort();
}

}  // namespace

std::vector<duel_rule> duel_rules() {
    return {
        {"fixed_window", fixed_window{.limit = 20, .window = 100ms}},
        {"sliding_log", sliding_log{.limit = 20, .window = 100ms}},
        {"strict_counter", sliding_counter{.limit = 20, .window = 100ms}},
        {"strict_counter_of_7_parts",
         sliding_counter{.limit = 9, .window = 10001us, .mode = counting::strict, .parts = 7}},
        {"unbiased_counter",
         sliding_counter{.limit = 20, .window = 100ms, .mode = counting::unbiased}},
        {"unbiased_counter_of_1_part",
         sliding_counter{.limit = 50, .window = 64ms, .mode = counting::unbiased, .parts = 1}},
        {"token_bucket", token_bucket{.capacity = 20, .refill = 200, .period = 1s}},
        {"token_bucket_of_a_broken_rate", token_bucket{.capacity = 10, .refill = 7, .period = 1s}},
        {"fast_token_bucket", token_bucket{.capacity = 5000, .refill = 3'000'000, .period = 1s}},
        {"leaky_bucket", leaky_bucket{.drain = 30, .period = 1s, .queue = 12}},
    };
}

std::uint64_t operations_or(std::uint64_t otherwise) {
    const char* wanted = std::getenv("HOLDFAST_MODEL_OPERATIONS");
    return wanted == nullptr ? otherwise : std::strtoull(wanted, nullptr, 10);
}

void fight(const duel_ground& ground, const duel_rule& rule, std::uint64_t seed,
           std::uint64_t operations) {
    seeded_entropy chance(seed);
    // Nothing is remembered here: every step asks the engine.
    rate_limiter limiter(ground.where, rule.rule, {.timeout = 20s, .remembered_keys = 0});
    std::array<std::unique_ptr<limit_model>, key_count> models;
    std::array<promise_check, key_count> promises{promise_check(rule.rule),
                                                  promise_check(rule.rule)};
    for (auto& model : models) model = make_model(rule.rule);
    const std::uint64_t capacity = capacity_of(rule.rule);
    std::uint64_t allowed = 0;
    std::uint64_t refused = 0;
    for (std::uint64_t i = 0; i < operations; ++i) {
        const bool gives = i < operations / 2;
        // Between the halves everything runs out, so that what was given back is forgotten.
        if (i == operations / 2) {
            ground.advance_us(
                4 * std::chrono::ceil<std::chrono::microseconds>(window_of(rule.rule)).count());
        }
        ground.advance_us(draw_step(chance, rule.rule));
        const operation wanted = draw_operation(chance, capacity, gives);
        const std::int64_t now = ground.now_us();
        const auto answered = carry_out(limiter, wanted);
        const decision expected = models[wanted.key]->step(wanted.op, now, wanted.n);
        const auto place = fmt::format("{}: seed {} step {} at {} us, {} of {}", rule.name, seed, i,
                                       now, static_cast<int>(wanted.op), wanted.n);
        ASSERT_TRUE(answered.has_value()) << place << ": " << to_string(answered.error());
        ASSERT_TRUE(same(*answered, expected))
            << place << "\n  engine " << shown(*answered) << "\n  model  " << shown(expected);
        if (wanted.op != model_op::take) continue;
        ++(answered->allowed ? allowed : refused);
        if (gives || !answered->allowed) continue;
        ASSERT_EQ(promises[wanted.key].admit(now, wanted.n), "") << place;
    }
    // A duel in which one side of the answer never comes proves little.
    EXPECT_GT(allowed, operations / 20);
    EXPECT_GT(refused, operations / 20);
}

}  // namespace holdfast::test

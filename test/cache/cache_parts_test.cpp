// SPDX-License-Identifier: Apache-2.0
#include "cache/cache_entry.hpp"
#include "cache/circuit_breaker.hpp"
#include "cache/local_cache.hpp"
#include "driver/memory/memory_engine.hpp"

#include <holdfast/cache.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <list>
#include <map>
#include <random>
#include <unordered_map>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using detail::circuit_breaker;
using detail::load_limit;
using detail::local_cache;

const time_point start{1h};

TEST(cache_entry, a_lease_reads_back) {
    detail::token_source tokens(0xabcd);
    const auto token = tokens.next();
    EXPECT_NE(token, tokens.next());
    const auto text = detail::lease_entry(detail::view_of(token));
    const auto seen = detail::read_entry({text.data(), text.size()});
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->kind, detail::entry_kind::loading);
    EXPECT_EQ(seen->token, detail::view_of(token));
}

TEST(cache_entry, what_is_no_entry_is_not_read) {
    EXPECT_FALSE(detail::read_entry(""));
    EXPECT_FALSE(detail::read_entry(std::string(200, 'x')));
    EXPECT_FALSE(detail::read_entry("hc1v" + std::string(100, 'z')));
    EXPECT_FALSE(detail::read_entry("hc1x" + std::string(100, '0')));
}

TEST(circuit_breaker, opens_after_failures_in_a_row_and_lets_one_try_when_it_is_half_open) {
    seeded_entropy chance(1);
    circuit_breaker breaker({.failures = 3, .pause = 1s, .pause_max = 4s}, chance);
    breaker.failed(start);
    breaker.failed(start);
    breaker.succeeded();
    breaker.failed(start);
    breaker.failed(start);
    EXPECT_TRUE(breaker.allows(start));
    breaker.failed(start);
    EXPECT_FALSE(breaker.allows(start));
    EXPECT_EQ(breaker.state(start), breaker_state::open);
    breaker.failed(start);  // of a call that began before: the pause stays
    EXPECT_EQ(breaker.state(start + 1s), breaker_state::half_open);
    EXPECT_TRUE(breaker.allows(start + 1s));
    EXPECT_FALSE(breaker.allows(start + 1s));
    breaker.failed(start + 1s);
    EXPECT_FALSE(breaker.allows(start + 2s));
    EXPECT_TRUE(breaker.allows(start + 3s));
    breaker.succeeded();
    EXPECT_TRUE(breaker.allows(start + 3s));
    EXPECT_TRUE(breaker.allows(start + 3s));
    EXPECT_EQ(breaker.opened(), 1U);
}

TEST(load_limit, lets_through_its_rate_and_a_burst_of_a_second) {
    load_limit limit(10, 10);
    int passed = 0;
    for (int ms = 0; ms < 10'000; ++ms) {
        for (int caller = 0; caller < 3; ++caller) {
            if (limit.take(start + std::chrono::milliseconds(ms))) ++passed;
        }
    }
    EXPECT_GE(passed, 105);
    EXPECT_LE(passed, 110);
}

bool has(local_cache& cache, std::string_view key, time_point oldest = start) {
    return cache.find(key, oldest, [](void*, std::string_view, bool) {}, nullptr);
}

TEST(local_cache, stays_within_its_bytes) {
    local_cache cache(1 << 20);
    for (int i = 0; i < 20'000; ++i) {
        const std::string key = "key" + std::to_string(i);
        cache.put(key, std::string(500, 'x'), false, start, cache.mark(key));
        ASSERT_LE(cache.bytes(), std::size_t{1} << 20);
    }
    EXPECT_GT(cache.bytes(), (std::size_t{1} << 20) * 9 / 10);
    EXPECT_GT(cache.entries(), 1000U);
}

TEST(local_cache, keeps_no_copy_that_was_fetched_before_a_message_came) {
    local_cache cache(1 << 20);
    const auto mark = cache.mark("a");
    cache.erase("a");  // the message
    cache.put("a", "old", false, start, mark);
    EXPECT_FALSE(has(cache, "a"));
    cache.put("a", "new", false, start, cache.mark("a"));
    EXPECT_TRUE(has(cache, "a"));
    EXPECT_FALSE(has(cache, "a", start + 1s));
    cache.clear();
    EXPECT_FALSE(has(cache, "a"));
    EXPECT_EQ(cache.bytes(), 0U);
}

// Least recently used, of so many entries, for comparison.
class lru {
public:
    explicit lru(std::size_t most) : most_(most) {}
    bool read(int key) {
        const auto found = at_.find(key);
        const bool hit = found != at_.end();
        if (hit) order_.erase(found->second);
        order_.push_front(key);
        at_[key] = order_.begin();
        if (at_.size() > most_) {
            at_.erase(order_.back());
            order_.pop_back();
        }
        return hit;
    }

private:
    std::size_t most_;
    std::list<int> order_;
    std::unordered_map<int, std::list<int>::iterator> at_;
};

TEST(local_cache, hits_more_often_than_lru_while_scans_pass_through) {
    std::mt19937 draw(7);  // style: allow chance, because a distribution of std takes no entropy
    std::vector<double> weights;
    for (int i = 1; i <= 20'000; ++i) weights.push_back(1.0 / i);
    std::discrete_distribution<int> zipf(weights.begin(), weights.end());
    local_cache cache(1000 * 200);
    int scan = 1'000'000;
    int ours = 0;
    int theirs = 0;
    std::size_t most = 0;
    lru other(1000);
    for (int i = 0; i < 200'000; ++i) {
        const int key = i % 4 == 0 ? scan++ : zipf(draw);
        const std::string text = "key" + std::to_string(key);
        if (has(cache, text)) {
            ++ours;
        } else {
            cache.put(text, std::string(30, 'x'), false, start, cache.mark(text));
        }
        most = std::max(most, cache.entries());
        if (other.read(key)) ++theirs;
    }
    EXPECT_LE(most, 1100U);
    EXPECT_GT(ours, theirs * 105 / 100) << "ours " << ours << ", LRU " << theirs;
    RecordProperty("hits", std::to_string(ours));
    RecordProperty("hits_of_lru", std::to_string(theirs));
}

TEST(xfetch, refreshes_before_the_expiry_about_as_often_as_the_formula_says) {
    virtual_clock time;
    seeded_entropy chance(3);
    const auto engine = make_memory_engine({.time = &time, .chance = &chance});
    int early = 0;
    for (int i = 0; i < 400; ++i) {
        cache<int> numbers(command_access(engine, chance),
                           {.prefix = "x" + std::to_string(i) + ":", .fresh = 10s, .jitter = 0s});
        int loads = 0;
        const auto load = [&] {
            ++loads;
            time.advance(1s);  // it takes a second
            return 1;
        };
        ASSERT_TRUE(numbers.get("a", load));
        time.advance(9s);  // one second is left: exp(-1)
        ASSERT_TRUE(numbers.get("a", load));
        early += loads - 1;
    }
    EXPECT_NEAR(early, 400 * std::exp(-1.0), 40);
}

TEST(jitter, spreads_the_expiry_over_its_whole_range) {
    virtual_clock time;
    const auto engine = make_memory_engine({.time = &time});
    cache<int> numbers{command_access(engine), {}};
    std::int64_t least = INT64_MAX;
    std::int64_t most = 0;
    for (int i = 0; i < 300; ++i) {
        const std::string key = "k" + std::to_string(i);
        ASSERT_TRUE(numbers.get(key, [] { return 1; }));
        const auto name = "cache:" + key;
        const auto left = engine->execute(words("PTTL", name), time.now() + 1s)->number() / 1000;
        least = std::min(least, left);
        most = std::max(most, left);
    }
    EXPECT_GE(least, 3600 + 600);
    EXPECT_LT(least, 3600 + 600 + 20);
    EXPECT_LE(most, 3600 + 600 + 300);
    EXPECT_GT(most, 3600 + 600 + 280);
}

}  // namespace
}  // namespace holdfast::test

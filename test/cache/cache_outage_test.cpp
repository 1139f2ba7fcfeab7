// SPDX-License-Identifier: Apache-2.0
//
// The engine is away, or the source is.
#include "driver/memory/memory_engine.hpp"
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/cache.hpp>
#include <holdfast/redis/redis.hpp>
#include <holdfast/virtual_clock.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

TEST(cache_outage, a_dead_redis_under_many_callers_lets_the_configured_rate_reach_the_source) {
    redis_server server;
    const std::shared_ptr<command_engine> engine = open_redis(server.url()).value();
    cache<int> numbers(command_access(engine),
                       {.prefix = "n:", .timeout = 500ms, .away_loads_per_second = 20});
    ASSERT_TRUE(numbers.get("warm", [] { return 1; }));
    server.kill();
    std::atomic<int> loads = 0;
    std::atomic<int> answers = 0;
    std::atomic<int> refused = 0;
    std::atomic<int> other = 0;
    const time_point begun = system_clock().now();
    {
        std::vector<std::jthread> callers;
        for (int i = 0; i < 200; ++i) {
            callers.emplace_back([&, i] {
                for (int n = 0; n < 5; ++n) {
                    const auto seen =
                        numbers.get("k" + std::to_string(i * 5 + n), [&] { return ++loads; });
                    if (seen) {
                        ++answers;
                    } else if (seen.error() == errc::unavailable) {
                        ++refused;
                    } else {
                        ++other;
                    }
                }
            });
        }
    }
    const double seconds = std::chrono::duration<double>(system_clock().now() - begun).count();
    EXPECT_EQ(loads, answers);
    EXPECT_GE(loads, 20);  // the burst
    EXPECT_LE(loads, 20 + 20 * seconds + 1);
    EXPECT_EQ(loads + refused, 1000);
    EXPECT_EQ(other, 0);
    EXPECT_NE(numbers.statistics().engine, breaker_state::closed);

    server.restart();
    wait_for("the breaker to close", [&] {
        static_cast<void>(numbers.get("after", [] { return 1; }));
        return numbers.statistics().engine == breaker_state::closed;
    });
    EXPECT_TRUE(numbers.peek("after"));
}

// Stored by another cache before this one listens: no message of it is under way.
void store_and_copy(const std::shared_ptr<command_engine>& engine, cache<int>& numbers) {
    cache<int> other(command_access(engine), {.prefix = "n:"});
    ASSERT_TRUE(other.put("a", 1));
    // The first read learns the server's time, the second one copies.
    for (int i = 0; i < 2; ++i) ASSERT_EQ(numbers.get("a", [] { return 9; }).value(), 1);
    ASSERT_EQ(numbers.statistics().local_entries, 1U);
}

TEST(cache_outage, a_copy_of_a_stated_age_is_answered_while_redis_is_away) {
    redis_server server;
    const std::shared_ptr<command_engine> engine = open_redis(server.url()).value();
    cache<int> numbers(command_access(engine), {.prefix = "n:",
                                                .timeout = 500ms,
                                                .local_bytes = 1 << 20,
                                                .local_life = 1ms,
                                                .away_stale = 60s,
                                                .away_loads_per_second = 0.001});
    store_and_copy(engine, numbers);
    server.kill();
    EXPECT_EQ(numbers.get("a", [] { return 2; }).value(), 1);
}

TEST(cache_outage, update_notes_what_it_could_not_delete_and_says_so) {
    redis_server server;
    const std::shared_ptr<command_engine> engine = open_redis(server.url()).value();
    cache<int> numbers(command_access(engine), {.prefix = "n:", .timeout = 300ms});
    ASSERT_TRUE(numbers.put("a", 1));
    int database = 1;
    const auto done = numbers.update("a", [&]() -> result<void> {
        database = 2;
        server.pause();  // it hangs after the note was made
        return {};
    });
    EXPECT_EQ(done.value(), update_outcome::pending);
    server.resume();
    wait_for("the entry to go", [&] {
        static_cast<void>(numbers.work_off());
        return !numbers.peek("a").value().has_value();
    });
    EXPECT_EQ(numbers.get("a", [&] { return database; }).value(), 2);
}

TEST(cache_outage, a_source_that_fails_is_left_alone_until_its_breaker_is_half_open) {
    virtual_clock time;
    const auto engine = make_memory_engine({.time = &time});
    cache<int> numbers(command_access(engine),
                       {.source_breaker = {.failures = 3, .pause = 1s, .pause_max = 1s}});
    int asked = 0;
    bool broken = true;
    const auto load = [&]() -> result<int> {
        ++asked;
        if (broken) return fail(errc::unavailable, "down");
        return 7;
    };
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(numbers.get("k" + std::to_string(i), load).error(), errc::unavailable);
    }
    EXPECT_EQ(asked, 3);
    EXPECT_EQ(numbers.statistics().source, breaker_state::open);
    time.advance(1s);
    EXPECT_FALSE(numbers.get("a", load));
    EXPECT_FALSE(numbers.get("b", load));
    EXPECT_EQ(asked, 4);
    broken = false;
    time.advance(1s);
    EXPECT_EQ(numbers.get("a", load).value(), 7);
    EXPECT_EQ(numbers.get("b", load).value(), 7);
}

TEST(cache_outage, a_broken_subscription_empties_the_copies) {
    redis_server server;
    const std::shared_ptr<command_engine> engine = open_redis(server.url()).value();
    cache<int> numbers(command_access(engine),
                       {.prefix = "n:", .local_bytes = 1 << 20, .local_life = 1h});
    store_and_copy(engine, numbers);
    server.kill();
    server.restart();
    wait_for("the copies to go", [&] { return numbers.statistics().local_entries == 0; });
}

}  // namespace
}  // namespace holdfast::test

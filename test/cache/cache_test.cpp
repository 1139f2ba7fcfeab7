// SPDX-License-Identifier: Apache-2.0
//
// What every engine must do for a cache.
#include "cache/cache_ground.hpp"
#include "support/wait_for.hpp"

#include <holdfast/cache.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <latch>
#include <stdexcept>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TEST_SUITE_P(engines, cache_test, testing::ValuesIn(cache_engines()), engine_name);

struct source {
    std::atomic<int> value = 1;
    std::atomic<int> loads = 0;
    auto loader() {
        return [this] {
            ++loads;
            return value.load();
        };
    }
};

TEST_P(cache_test, a_value_is_loaded_once_and_then_a_hit) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    source db;
    EXPECT_EQ(numbers.get("a", db.loader()).value(), 1);
    EXPECT_EQ(numbers.get("a", db.loader()).value(), 1);
    EXPECT_EQ(db.loads, 1);
    EXPECT_EQ(numbers.statistics().misses, 1U);
    EXPECT_EQ(numbers.statistics().hits, 1U);
}

TEST_P(cache_test, another_process_sees_what_was_stored) {
    cache<std::string> one(where(), {.prefix = ground_->prefix()});
    cache<std::string> other(where(), {.prefix = ground_->prefix()});
    EXPECT_EQ(one.get("a", [] { return "text"; }).value(), "text");
    EXPECT_EQ(other.get("a", [] { return "another"; }).value(), "text");
}

TEST_P(cache_test, every_entry_has_an_expiry) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    source db;
    ASSERT_TRUE(numbers.get("a", db.loader()));
    const auto left = raw("PTTL", ground_->prefix() + "a").number();
    EXPECT_GT(left, 3600 * 1000);
    EXPECT_LE(left, (3600 + 300 + 600) * 1000);
}

TEST_P(cache_test, absence_is_cached_with_its_own_life) {
    cache<int> numbers(where(), {.prefix = ground_->prefix(), .absent = 200ms});
    int loads = 0;
    const auto nothing = [&]() -> std::optional<int> {
        ++loads;
        return std::nullopt;
    };
    EXPECT_EQ(numbers.get("a", nothing).value(), std::nullopt);
    EXPECT_EQ(numbers.get("a", nothing).value(), std::nullopt);
    EXPECT_EQ(loads, 1);
    ground_->pass(250ms);
    EXPECT_EQ(numbers.get("a", nothing).value(), std::nullopt);
    EXPECT_EQ(loads, 2);
}

TEST_P(cache_test, an_invalidated_value_is_loaded_anew) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    source db;
    ASSERT_TRUE(numbers.get("a", db.loader()));
    db.value = 2;
    EXPECT_TRUE(numbers.invalidate("a").value());
    EXPECT_FALSE(numbers.invalidate("a").value());
    EXPECT_EQ(numbers.get("a", db.loader()).value(), 2);
}

TEST_P(cache_test, a_late_load_does_not_put_an_old_value_back) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    cache<int> writer(where(), {.prefix = ground_->prefix()});
    int database = 1;
    const auto late = numbers.get("a", [&] {
        const int read = database;
        database = 2;  // somebody writes after this loader has read …
        EXPECT_TRUE(writer.invalidate("a"));
        return read;  // … and before its value is stored
    });
    EXPECT_EQ(late.value(), 1);
    EXPECT_EQ(numbers.statistics().refused_stores, 1U);
    EXPECT_FALSE(writer.peek("a").value().has_value());
    EXPECT_EQ(numbers.get("a", [&] { return database; }).value(), 2);
}

TEST_P(cache_test, an_invalidation_voids_a_refresh_too) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    int database = 1;
    ASSERT_TRUE(numbers.get("a", [&] { return database; }));
    ASSERT_TRUE(numbers.refresh("a", [&] {
        const int read = database;
        database = 2;
        EXPECT_TRUE(numbers.invalidate("a"));
        return read;
    }));
    EXPECT_EQ(numbers.get("a", [&] { return database; }).value(), 2);
}

TEST_P(cache_test, of_two_refreshes_the_one_that_began_later_wins) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    ASSERT_TRUE(numbers.refresh("a", [&] {
        EXPECT_EQ(numbers.refresh("a", [] { return 2; }).value(), 2);
        return 1;
    }));
    EXPECT_EQ(numbers.peek("a").value()->value, 2);
}

TEST_P(cache_test, a_stale_value_is_answered_while_one_caller_loads) {
    cache_options options{.prefix = ground_->prefix(), .fresh = 100ms, .jitter = 0ms, .stale = 60s};
    cache<int> numbers(where(), options);
    source db;
    ASSERT_TRUE(numbers.get("a", db.loader()));
    ground_->pass(150ms);
    db.value = 2;
    // While this caller loads, another one is answered at once.
    const auto loaded = numbers.get("a", [&] {
        cache<int> other(where(), options);
        EXPECT_EQ(other.get("a", db.loader()).value(), 1);
        return db.value.load();
    });
    EXPECT_EQ(loaded.value(), 2);
    EXPECT_EQ(db.loads, 1);
    EXPECT_TRUE(numbers.peek("a").value().has_value());
}

TEST_P(cache_test, a_background_loader_refreshes_and_nobody_waits) {
    source db;
    cache<int> numbers(where(),
                       {.prefix = ground_->prefix(), .fresh = 100ms, .jitter = 0ms, .stale = 60s},
                       [&](std::string_view) { return db.loader()(); });
    ASSERT_EQ(numbers.get("a").value(), 1);
    ground_->pass(150ms);
    db.value = 2;
    EXPECT_EQ(numbers.get("a").value(), 1);
    wait_for("the effect", [&] { return numbers.peek("a").value()->value == 2; });
    EXPECT_EQ(db.loads, 2);
}

TEST_P(cache_test, a_failed_load_is_answered_by_the_stale_value) {
    cache_options options{.prefix = ground_->prefix(), .fresh = 100ms, .jitter = 0ms, .stale = 60s};
    cache<int> numbers(where(), options);
    source db;
    ASSERT_TRUE(numbers.get("a", db.loader()));
    ground_->pass(150ms);
    const auto broken = []() -> result<int> { return fail(errc::unavailable, "down"); };
    EXPECT_EQ(numbers.get("a", broken).value(), 1);
    options.on_failure = failure_policy::fail;
    cache<int> strict(where(), options);
    EXPECT_EQ(strict.get("a", broken).error(), errc::unavailable);
    // The lease was given back: the next one loads at once.
    EXPECT_EQ(strict.get("a", db.loader()).value(), 1);
    EXPECT_EQ(db.loads, 2);
}

TEST_P(cache_test, an_exception_of_the_loader_is_an_error_and_frees_the_key) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    const auto thrown = numbers.get("a", []() -> int { throw std::runtime_error("boom"); });
    EXPECT_EQ(thrown.error(), errc::unavailable);
    EXPECT_THAT(thrown.error().detail, testing::HasSubstr("boom"));
    EXPECT_EQ(numbers.get("a", [] { return 3; }).value(), 3);
}

TEST_P(cache_test, a_loader_that_died_blocks_its_key_for_the_lease_and_leaves_nothing) {
    cache<int> numbers(where(), {.prefix = ground_->prefix(), .lease = 300ms, .wait = 20ms});
    // What a process leaves that died after it took the lease.
    raw("SET", ground_->prefix() + "a",
        "hc1-" + std::string(42, '0') + "00000000000000aa00000000000000bb", "PX", 300);
    if (!virtual_time()) {
        EXPECT_EQ(numbers.get("a", [] { return 1; }).error(), errc::timed_out);
    }
    ground_->pass(400ms);
    EXPECT_EQ(raw("EXISTS", ground_->prefix() + "a").number(), 0);
    EXPECT_EQ(numbers.get("a", [] { return 1; }).value(), 1);
}

TEST_P(cache_test, a_waiter_is_woken_by_the_store_of_another_process) {
    if (virtual_time()) GTEST_SKIP() << "allowed: two processes that wait need a clock that runs";
    cache<int> one(where(), {.prefix = ground_->prefix()});
    cache<int> other(where(), {.prefix = ground_->prefix()});
    ASSERT_TRUE(other.get("warm up", [] { return 0; }));  // it has subscribed
    std::latch loading(1);
    std::jthread waiter;
    const auto loaded = one.get("a", [&] {
        waiter = std::jthread([&] {
            loading.count_down();
            EXPECT_EQ(other.get("a", [] { return 8; }).value(), 7);
        });
        loading.wait();
        wait_for("the effect", [&] { return other.statistics().waits > 0; });
        return 7;
    });
    EXPECT_EQ(loaded.value(), 7);
}

TEST_P(cache_test, get_many_answers_each_key_in_its_place) {
    cache<std::string> texts(where(), {.prefix = ground_->prefix()});
    ASSERT_TRUE(texts.put("b", "put"));
    const std::vector<std::string_view> keys{"a", "b", "c", "a"};
    int loads = 0;
    for (int round = 0; round < 2; ++round) {
        const auto all =
            texts.get_many(keys, [&](std::string_view key) -> std::optional<std::string> {
                ++loads;
                if (key == "c") return std::nullopt;
                return "loaded " + std::string(key);
            });
        EXPECT_EQ(all[0].value(), "loaded a");
        EXPECT_EQ(all[1].value(), "put");
        EXPECT_EQ(all[2].value(), std::nullopt);
        EXPECT_EQ(all[3].value(), "loaded a");
    }
    EXPECT_EQ(loads, 2);
}

TEST_P(cache_test, a_value_of_another_program_is_corrupt_and_stays) {
    raw("SET", ground_->prefix() + "a", "plain");
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    EXPECT_EQ(numbers.get("a", [] { return 1; }).error(), errc::corrupt);
    EXPECT_EQ(raw("GET", ground_->prefix() + "a").text(), "plain");
}

TEST_P(cache_test, a_value_of_another_version_is_loaded_anew) {
    cache<std::string> before(where(), {.prefix = ground_->prefix()});
    ASSERT_TRUE(before.put("a", "three"));
    cache<std::uint64_t> after(where(), {.prefix = ground_->prefix()});
    EXPECT_EQ(after.get("a", [] { return std::uint64_t{9}; }).value(), 9U);
    EXPECT_EQ(after.peek("a").value()->value, 9U);
}

TEST_P(cache_test, update_writes_then_deletes_and_leaves_no_note) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    int database = 1;
    ASSERT_TRUE(numbers.get("a", [&] { return database; }));
    const auto done = numbers.update("a", [&]() -> result<void> {
        database = 2;
        return {};
    });
    EXPECT_EQ(done.value(), update_outcome::deleted);
    EXPECT_EQ(numbers.get("a", [&] { return database; }).value(), 2);
    const std::string list = ground_->prefix() + "{pending}:7:cache_pending";
    wait_for("the effect", [&] { return raw("ZCARD", list).number() == 0; });
}

TEST_P(cache_test, a_failed_write_is_answered_and_deletes_too) {
    cache<int> numbers(where(), {.prefix = ground_->prefix()});
    ASSERT_TRUE(numbers.put("a", 1));
    const auto done =
        numbers.update("a", []() -> result<void> { return fail(errc::denied, "read only"); });
    EXPECT_EQ(done.error(), errc::denied);
    EXPECT_FALSE(numbers.peek("a").value().has_value());
}

TEST_P(cache_test, a_writer_that_died_is_finished_by_another_process) {
    cache_options options{.prefix = ground_->prefix(), .pending_after = 100ms};
    cache<int> numbers(where(), options);
    ASSERT_TRUE(numbers.put("a", 1));
    const std::string list = ground_->prefix() + "{pending}:7:cache_pending";
    // What a writer leaves that died after its write: the note.
    const auto seen = numbers.update("b", [&]() -> result<void> {
        raw("ZADD", list, 1, "00000000000000aa:a");
        return {};
    });
    ASSERT_TRUE(seen);
    EXPECT_TRUE(numbers.peek("a").value().has_value());
    ground_->pass(150ms);
    EXPECT_EQ(numbers.work_off().value(), 1U);
    EXPECT_FALSE(numbers.peek("a").value().has_value());
    EXPECT_EQ(numbers.work_off().value(), 0U);
}

TEST_P(cache_test, a_copy_in_the_process_answers_and_goes_when_another_process_invalidates) {
    if (!ground_->has_messages()) GTEST_SKIP() << "allowed: no messages, so no copies are kept";
    cache_options options{.prefix = ground_->prefix(), .local_bytes = 1 << 20, .local_life = 60s};
    cache<int> one(where(), options);
    cache<int> other(where(), {.prefix = ground_->prefix()});
    source db;
    ASSERT_TRUE(one.get("a", db.loader()));
    wait_for("a copy that answers", [&] {
        EXPECT_EQ(one.get("a", db.loader()).value(), 1);
        return one.statistics().local_hits > 0;
    });
    EXPECT_EQ(db.loads, 1);
    db.value = 2;
    ASSERT_TRUE(other.invalidate("a"));
    wait_for("the effect", [&] { return one.get("a", db.loader()).value() == 2; });
}

TEST_P(cache_test, a_copy_is_never_older_than_its_life) {
    cache_options options{.prefix = ground_->prefix(), .local_bytes = 1 << 20, .local_life = 100ms};
    cache<int> one(where(), options);
    source db;
    ASSERT_TRUE(one.get("a", db.loader()));
    raw("DEL", ground_->prefix() + "a");  // on some engines nobody tells us
    db.value = 2;
    ground_->pass(150ms);
    EXPECT_EQ(one.get("a", db.loader()).value(), 2);
}

TEST_P(cache_test, a_worker_keeps_fresh_what_is_told_to_have_changed) {
    if (virtual_time()) GTEST_SKIP() << "allowed: a worker that waits needs a clock that runs";
    source db;
    cache<int> numbers(where(), {.prefix = ground_->prefix(), .fresh = 24h * 30},
                       [&](std::string_view) { return db.loader()(); });
    ASSERT_EQ(numbers.get("a").value(), 1);
    const std::jthread one(
        [&](const std::stop_token& stop) { EXPECT_TRUE(numbers.keep_fresh(stop)); });
    const std::jthread two(
        [&](const std::stop_token& stop) { EXPECT_TRUE(numbers.keep_fresh(stop)); });
    for (int n = 2; n < 5; ++n) {
        db.value = n;
        ASSERT_TRUE(numbers.changed("a"));
        wait_for("the new value", [&] { return numbers.peek("a").value()->value == n; });
    }
    EXPECT_EQ(numbers.get("a").value(), 4);
    EXPECT_EQ(db.loads, 4);
    EXPECT_GT(raw("PTTL", ground_->prefix() + "{changes}:7:cache_changes").number(), 0);
}

TEST_P(cache_test, bad_keys_and_options_are_told) {
    cache<int> numbers(where(), {.prefix = ground_->prefix(), .fresh = 0ms});
    EXPECT_EQ(numbers.get("a", [] { return 1; }).error(), errc::invalid_argument);
    cache<int> good(where(), {.prefix = ground_->prefix()});
    EXPECT_EQ(good.get("", [] { return 1; }).error(), errc::invalid_argument);
    EXPECT_EQ(good.get("a").error(), errc::unsupported);
    cache<std::string> small(where(), {.prefix = ground_->prefix(), .max_value_bytes = 3});
    EXPECT_EQ(small.get("b", [] { return "four"; }).error(), errc::invalid_argument);
    EXPECT_EQ(small.get("b", [] { return "two"; }).value(), "two");
}

TEST_P(cache_test, a_thousand_threads_on_one_cold_key_load_once) {
    if (virtual_time()) GTEST_SKIP() << "allowed: threads that wait need a clock that runs";
    if (GetParam().name == "redis_sentinel") GTEST_SKIP() << "allowed: the same as redis";
    cache<int> numbers(where(), {.prefix = ground_->prefix(), .wait = 60s, .timeout = 30s});
    std::atomic<int> loads = 0;
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> callers;
        std::latch all(1000);
        for (int i = 0; i < 1000; ++i) {
            callers.emplace_back([&] {
                all.arrive_and_wait();
                const auto seen = numbers.get("cold", [&] {
                    ++loads;
                    // style: allow clock, because a load takes time
                    std::this_thread::sleep_for(20ms);
                    return 42;
                });
                if (seen && *seen == 42) ++right;
            });
        }
    }
    EXPECT_EQ(right, 1000);
    EXPECT_EQ(loads, 1);
}

}  // namespace
}  // namespace holdfast::test

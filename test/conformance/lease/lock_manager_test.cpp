// SPDX-License-Identifier: Apache-2.0
#include "conformance/lease/mutex_fixture.hpp"

#include <holdfast/lock_manager.hpp>

#include <gmock/gmock.h>

#include <future>
#include <optional>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class lock_manager_promise : public mutex_case {
protected:
    [[nodiscard]] managed_options once() const { return {.lock = options()}; }
};

TEST_P(lock_manager_promise, what_it_acquires_by_key_it_releases_by_key) {
    lock_manager locks(one, once());
    const auto b = locks.acquire("b").value();
    const auto a = locks.acquire("a").value();
    EXPECT_GT(a.fence.value, 0U);
    EXPECT_FALSE(b.lost.stop_requested());
    EXPECT_TRUE(locks.held("a"));
    EXPECT_GT(locks.remaining("a"), 0s);
    EXPECT_THAT(locks.keys(), ElementsAre("a", "b"));
    EXPECT_FALSE(is_free("a"));
    EXPECT_TRUE(locks.release("a"));
    EXPECT_FALSE(locks.held("a"));
    EXPECT_EQ(locks.remaining("a"), 0s);
    EXPECT_TRUE(is_free("a"));
    EXPECT_EQ(locks.release("a").error(), errc::invalid_argument) << "once is enough";
    EXPECT_EQ(locks.release("never").error(), errc::invalid_argument);
}

TEST_P(lock_manager_promise, a_key_that_it_holds_is_busy_for_itself_too) {
    lock_manager locks(one, once());
    ASSERT_TRUE(locks.acquire("a"));
    EXPECT_EQ(locks.acquire("a").error(), errc::busy);
    EXPECT_TRUE(locks.held("a"));
}

TEST_P(lock_manager_promise, the_mutex_of_a_key_is_made_once) {
    lock_manager locks(one, once());
    const auto first = locks.get("a").value();
    EXPECT_EQ(locks.get("a").value(), first);
    EXPECT_NE(locks.get("b").value(), first);
    const auto held = first->acquire().value();
    EXPECT_EQ(locks.acquire("a").error(), errc::busy) << "its leases are its user's own";
    EXPECT_TRUE(locks.keys().empty());
    EXPECT_EQ(locks.get("").error(), errc::invalid_argument);
}

TEST_P(lock_manager_promise, a_key_may_have_options_of_its_own) {
    lock_manager locks(one, once());
    ASSERT_TRUE(locks.configure("long", {.lock = {.ttl = 4 * ttl, .wait = 0s}}));
    ASSERT_TRUE(locks.acquire("long"));
    ASSERT_TRUE(locks.acquire("usual"));
    EXPECT_GT(locks.remaining("long"), 2 * ttl);
    EXPECT_LT(locks.remaining("usual"), ttl);
    EXPECT_GT(locks.get("long").value()->try_acquire().error().detail.size(), 0U);
    EXPECT_EQ(locks.configure("", {}).error(), errc::invalid_argument);
    EXPECT_THAT(locks.configure("a", {.retries = 1001}).error().detail, HasSubstr("retries"));
    EXPECT_THAT(locks.configure("a", {.retry_pause = 0s}).error().detail, HasSubstr("retry_pause"));
    lock_manager wrong(one, {.retry_pause = 2h});
    EXPECT_EQ(wrong.acquire("a").error(), errc::invalid_argument);
}

TEST_P(lock_manager_promise, the_longest_hold_of_a_key_ends_it) {
    lock_manager locks(one, {.lock = {.ttl = ttl, .wait = 0s, .max_hold = ttl / 2}});
    const auto held = locks.acquire("a").value();
    bed->pass(ttl / 2 + 1ms);
    wait_for("the end", [&] { return held.lost.stop_requested(); });
    EXPECT_FALSE(locks.held("a"));
    EXPECT_TRUE(locks.keys().empty());
    EXPECT_EQ(locks.release("a").error(), errc::lease_lost);
}

TEST_P(lock_manager_promise, asks_again_after_a_rest_as_often_as_it_may) {
    auto blocks = std::optional(take(two, "a"));
    lock_manager locks(one, {.lock = options(), .retries = 1000, .retry_pause = 10ms});
    auto got = std::async(std::launch::async, [&] { return locks.acquire("a"); });
    wait_for("two refusals", [&] {
        bed->pass(10ms);
        return one.statistics().refused >= 2;
    });
    EXPECT_TRUE(std::move(*blocks).release());
    wait_for("the lock", [&] {
        bed->pass(10ms);
        return got.wait_for(0s) == std::future_status::ready;
    });
    EXPECT_TRUE(got.get());
    lock_manager twice(two, {.lock = options(), .retries = 1, .retry_pause = 1ms});
    const auto before = two.statistics().refused;
    auto refused = std::async(std::launch::async, [&] { return twice.acquire("a").error(); });
    while (refused.wait_for(1ms) != std::future_status::ready) bed->pass(1ms);
    EXPECT_EQ(refused.get(), errc::busy);
    EXPECT_EQ(two.statistics().refused, before + 2);
}

TEST_P(lock_manager_promise, closing_releases_all_and_ends_what_waits) {
    const auto blocks = take(two, "busy");
    lock_manager locks(one, {.lock = options(forever)});
    ASSERT_TRUE(locks.acquire("a"));
    ASSERT_TRUE(locks.acquire("b"));
    auto waits = std::async(std::launch::async, [&] { return locks.acquire("busy").error(); });
    wait_for("it to wait", [&] { return waiting("busy") == 1; });
    EXPECT_TRUE(locks.close());
    EXPECT_EQ(waits.get(), errc::cancelled);
    EXPECT_TRUE(is_free("a") && is_free("b"));
    EXPECT_TRUE(locks.keys().empty());
    EXPECT_EQ(locks.acquire("a").error(), errc::invalid_argument);
    EXPECT_EQ(locks.get("a").error(), errc::invalid_argument);
    EXPECT_TRUE(locks.close()) << "twice is as good as once";
}

TEST_P(lock_manager_promise, one_that_goes_out_of_scope_gives_back_what_it_holds) {
    {
        lock_manager locks(one, once());
        ASSERT_TRUE(locks.acquire("a"));
    }
    wait_for("it to be free", [&] { return is_free("a"); });
    std::optional<client> gone(bed->make_client());
    lock_manager orphan(*gone, once());
    gone.reset();
    EXPECT_EQ(orphan.acquire("a").error(), errc::invalid_argument);
}

HOLDFAST_ON_EVERY_ENGINE(lock_manager_promise);

}  // namespace
}  // namespace holdfast::test

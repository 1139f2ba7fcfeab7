// SPDX-License-Identifier: Apache-2.0
//
// A mutex that its holder may acquire again, on every engine.
#include "conformance/lease/counting_store.hpp"
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class recursive_promise : public mutex_case {
protected:
    std::shared_ptr<counting_store> counted = std::make_shared<counting_store>(bed->make_store());
    client watched = bed->client_on(counted);

    static errc thrown(const std::function<void()>& call) {
        try {
            call();
        } catch (const std::system_error& e) {
            return static_cast<errc>(e.code().value());
        }
        return errc{};
    }
};

TEST_P(recursive_promise, an_inner_level_costs_no_trip_draws_no_fence_and_adds_no_time) {
    auto outer = watched.recursive_mutex("job").acquire(options()).value();
    const auto fence = outer.fence();
    const auto left = outer.shared().remaining();
    const int asked = counted->requests();
    {
        auto inner = outer.acquire_again().value();
        auto innermost = inner.acquire_again().value();
        EXPECT_EQ(innermost.fence(), fence);
        EXPECT_LE(innermost.shared().remaining(), left);
        EXPECT_EQ(outer.levels(), 3U);
        EXPECT_TRUE(std::move(innermost).release());
        EXPECT_TRUE(std::move(inner).release());
    }
    EXPECT_EQ(counted->requests(), asked) << "neither to acquire again nor to release it";
    EXPECT_EQ(outer.levels(), 1U);
    EXPECT_FALSE(is_free());
    EXPECT_EQ(watched.statistics().acquired, 1U);
    EXPECT_TRUE(std::move(outer).release());
    EXPECT_EQ(counted->requests(), asked + 1);
    EXPECT_TRUE(is_free());
}

TEST_P(recursive_promise, the_lease_ends_with_the_last_level_in_whatever_order_they_go) {
    auto outer = watched.recursive_mutex("job").acquire(options()).value();
    auto inner = outer.acquire_again().value();
    EXPECT_TRUE(std::move(outer).release());
    EXPECT_FALSE(is_free());
    EXPECT_EQ(outer.levels(), 0U);  // NOLINT: what a released handle says is part of the contract
    EXPECT_EQ(outer.acquire_again().error(), errc::invalid_argument);       // NOLINT
    EXPECT_EQ(std::move(outer).release().error(), errc::invalid_argument);  // NOLINT
    EXPECT_TRUE(std::move(inner).release());
    EXPECT_TRUE(is_free());
}

TEST_P(recursive_promise, a_last_level_that_goes_out_of_scope_is_released_in_the_background) {
    {
        const auto outer = watched.recursive_mutex("job").acquire(options()).value();
        const auto inner = outer.acquire_again().value();
    }
    wait_for("the release", [&] { return is_free(); });
}

TEST_P(recursive_promise, a_lost_lease_is_lost_at_every_level_and_cannot_be_acquired_again) {
    auto outer = watched.recursive_mutex("job").acquire(options()).value();
    auto inner = outer.acquire_again().value();
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("the loss", [&] { return !inner.held(); });
    EXPECT_FALSE(outer.held());
    EXPECT_EQ(outer.shared().reason(), loss_reason::missing);
    const auto again = inner.acquire_again();
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error(), errc::lease_lost);
    EXPECT_NE(again.error().detail.find("release every level"), std::string::npos);
    EXPECT_EQ(std::move(inner).release().error(), errc::lease_lost);
    EXPECT_EQ(std::move(outer).release().error(), errc::lease_lost);
}

TEST_P(recursive_promise, a_retried_acquire_counts_once) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    line->set_for(interposed_store::line::one_way, 1);
    auto held = shaky.recursive_mutex("job").acquire(options()).value();
    EXPECT_EQ(held.levels(), 1U);
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(is_free()) << "the engine was asked twice, and one release ends it";
}

TEST_P(recursive_promise, the_std_face_counts_by_thread) {
    recursive_mutex m(watched, "job", {.ttl = ttl});
    const std::scoped_lock outer(m);
    const auto fence = m.current().fence();
    const int asked = counted->requests();
    {
        const std::unique_lock inner(m);
        EXPECT_EQ(m.current().fence(), fence);
        EXPECT_TRUE(m.try_lock_for(1s));
        m.unlock();
    }
    EXPECT_EQ(counted->requests(), asked);
    EXPECT_TRUE(m.current().held());
    std::thread other([&] {
        EXPECT_FALSE(m.try_lock()) << "another thread is another holder";
        m.unlock();  // which cannot take the lock from its holder
    });
    other.join();
    EXPECT_TRUE(m.current().held());
    EXPECT_FALSE(is_free());
}

TEST_P(recursive_promise, the_std_face_is_free_after_as_many_unlocks_as_locks) {
    recursive_mutex m(watched, "job", {.ttl = ttl});
    m.lock();
    m.lock();
    m.unlock();
    EXPECT_FALSE(is_free());
    m.unlock();
    EXPECT_TRUE(is_free());
    m.unlock();  // once too often: nothing
    EXPECT_TRUE(is_free());
}

TEST_P(recursive_promise, locking_again_what_was_lost_throws_until_every_level_is_unlocked) {
    recursive_mutex m(watched, "job", {.ttl = ttl});
    m.lock();
    m.lock();
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("the loss", [&] { return !m.current().held(); });
    EXPECT_EQ(thrown([&] { m.lock(); }), errc::lease_lost);
    EXPECT_EQ(thrown([&] { static_cast<void>(m.try_lock()); }), errc::lease_lost);
    m.unlock();
    EXPECT_EQ(thrown([&] { m.lock(); }), errc::lease_lost) << "one level is still there";
    m.unlock();
    EXPECT_EQ(thrown([&] { m.lock(); }), errc{});
    EXPECT_TRUE(m.current().held());
    m.unlock();
}

TEST_P(recursive_promise, a_recursion_without_end_is_told) {
    const auto outer = watched.recursive_mutex("job").acquire(options()).value();
    std::vector<recursive_lease> levels;
    for (;;) {
        auto next = outer.acquire_again();
        if (!next) {
            EXPECT_EQ(next.error(), errc::busy);
            break;
        }
        levels.push_back(std::move(*next));
        ASSERT_LE(levels.size(), recursive_lease::most_levels);
    }
    EXPECT_EQ(outer.levels(), recursive_lease::most_levels);
}

HOLDFAST_ON_EVERY_ENGINE(recursive_promise);

}  // namespace
}  // namespace holdfast::test

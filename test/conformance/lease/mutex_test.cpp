// SPDX-License-Identifier: Apache-2.0
//
// What a mutex promises on every engine, by the face that users see.
#include "conformance/lease/mutex_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class mutex_promise : public mutex_case {
protected:
    /// Lets six contenders come one after the other, then releases: in which order they got it.
    std::vector<int> served(const std::function<client&(int)>& client_of,
                            const std::function<void(int)>& until_it_waits, lease held) {
        std::mutex guard;
        std::vector<int> order;
        std::vector<std::thread> threads;
        for (int i = 0; i < 6; ++i) {
            threads.emplace_back([&, i] {
                auto mine = client_of(i).mutex("job").acquire(options(forever)).value();
                {
                    const std::scoped_lock lock(guard);
                    order.push_back(i);
                }
                EXPECT_TRUE(std::move(mine).release());
            });
            until_it_waits(i);
        }
        EXPECT_TRUE(std::move(held).release());
        for (auto& thread : threads) thread.join();
        return order;
    }
};

TEST_P(mutex_promise, one_holder_at_a_time) {
    auto held = one.mutex("job").acquire(options());
    ASSERT_TRUE(held);
    EXPECT_TRUE(held->held());
    EXPECT_EQ(held->name().value(), "job");
    EXPECT_EQ(held->status(), lease_status::held);
    const auto refused = two.mutex("job").try_acquire(options());
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), errc::busy);
    EXPECT_TRUE(std::move(*held).release());
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, what_remains_never_exceeds_what_the_engine_grants) {
    const auto held = take(one);
    EXPECT_LT(held.remaining(), ttl);
    EXPECT_GT(held.remaining(), ttl / 2);
}

TEST_P(mutex_promise, fences_grow_from_holder_to_holder) {
    fencing_token last{0};
    for (int i = 0; i < 10; ++i) {
        auto held = take(i % 2 == 0 ? one : two);
        EXPECT_GT(held.fence(), last);
        last = held.fence();
        ASSERT_TRUE(std::move(held).release());
    }
}

TEST_P(mutex_promise, a_waiter_is_woken_by_the_release_without_looking) {
    auto held = take(one);
    const auto first = held.fence();
    auto waiter = std::async(std::launch::async,
                             [&] { return two.mutex("job").acquire(options(forever)).value(); });
    wait_for_waiters(1);
    ASSERT_TRUE(std::move(held).release());
    const auto next = waiter.get();  // on virtual time nothing but the handoff can wake it
    EXPECT_GT(next.fence(), first);
    EXPECT_TRUE(next.held());
    EXPECT_EQ(two.statistics().handed_off, two.can().fair ? 1U : 0U);
}

TEST_P(mutex_promise, clients_are_served_first_come_first_served) {
    if (!one.can().fair) GTEST_SKIP() << "allowed: this engine promises no order";
    auto held = take(one);
    std::vector<client> others;
    for (int i = 0; i < 6; ++i) others.push_back(bed->make_client());
    EXPECT_EQ(served([&](int i) -> client& { return others[static_cast<std::size_t>(i)]; },
                     [&](int i) { wait_for_waiters(static_cast<std::uint32_t>(i + 1)); },
                     std::move(held)),
              (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST_P(mutex_promise, the_threads_of_one_client_are_served_first_come_first_served) {
    auto held = take(one);
    const auto all_wait = [&](int i) {
        wait_for("it to wait",
                 [&] { return one.statistics().waiting == static_cast<std::uint64_t>(i + 1); });
    };
    EXPECT_EQ(served([&](int) -> client& { return one; }, all_wait, std::move(held)),
              (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST_P(mutex_promise, a_wait_that_runs_out_of_time_leaves_nothing_behind) {
    const auto held = take(one);
    auto waiter =
        std::async(std::launch::async, [&] { return two.mutex("job").acquire(options(ttl / 4)); });
    wait_for_waiters(1);
    EXPECT_EQ(pass_until(waiter).error(), errc::timed_out);
    expect_nobody_waits();
}

TEST_P(mutex_promise, every_wait_of_a_client_that_runs_out_of_time_has_timed_out) {
    const auto held = take(one);
    std::vector<std::future<result<lease>>> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(std::async(std::launch::async,
                                 [&] { return two.mutex("job").acquire(options(200ms)); }));
    }
    for (auto& one_of : all) {
        const auto said = pass_until(one_of);
        ASSERT_FALSE(said);
        EXPECT_EQ(said.error(), errc::timed_out) << said.error().detail;
    }
    expect_nobody_waits();
}

TEST_P(mutex_promise, a_wait_is_cancelled_by_its_stop_token) {
    const auto held = take(one);
    std::stop_source stop;
    auto waiter = std::async(std::launch::async, [&] {
        return two.mutex("job").acquire({.ttl = ttl, .wait = forever, .stop = stop.get_token()});
    });
    wait_for_waiters(1);
    stop.request_stop();
    EXPECT_EQ(waiter.get().error(), errc::cancelled);
    expect_nobody_waits();
}

TEST_P(mutex_promise, a_stop_that_came_before_the_call_ends_it_before_it_asks) {
    std::stop_source stop;
    stop.request_stop();
    const auto got = one.mutex("job").acquire({.ttl = ttl, .stop = stop.get_token()});
    EXPECT_EQ(got.error(), errc::cancelled);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(mutex_promise, a_lease_that_goes_out_of_scope_is_released_in_the_background) {
    static_cast<void>(take(one));
    wait_for("the release", [&] { return is_free(); });
    EXPECT_EQ(one.statistics().held, 0U);
    EXPECT_EQ(one.statistics().lost, 0U);
}

TEST_P(mutex_promise, a_lease_can_be_moved_and_is_released_once) {
    std::optional<lease> kept;
    {
        lease held = take(one);
        kept.emplace(std::move(held));
        EXPECT_FALSE(held.held());  // NOLINT: what a moved-from lease says is part of the contract
        EXPECT_EQ(std::move(held).release().error(), errc::invalid_argument);
    }
    EXPECT_TRUE(kept->held());
    EXPECT_TRUE(std::move(*kept).release());
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, closing_gives_everything_back_and_ends_every_wait) {
    const auto mine = take(one, "mine");
    const auto blocked = take(two, "job");
    auto waiter =
        std::async(std::launch::async, [&] { return one.mutex("job").acquire(options(forever)); });
    wait_for_waiters(1);
    one.close();
    EXPECT_EQ(waiter.get().error(), errc::invalid_argument);
    expect_nobody_waits();
    EXPECT_TRUE(is_free("mine"));
    EXPECT_EQ(mine.reason(), loss_reason::closed);
    EXPECT_EQ(one.mutex("x").try_acquire(options()).error(), errc::invalid_argument);
    EXPECT_EQ(one.list().error(), errc::invalid_argument);
    EXPECT_NE(one.mutex("x").try_acquire(options()).error().detail.find("closed"),
              std::string::npos);
}

TEST_P(mutex_promise, a_lease_outlives_its_client_object_safely) {
    std::optional<lease> kept;
    {
        auto brief = bed->make_client();
        kept.emplace(take(brief));
        EXPECT_TRUE(kept->held());
    }
    EXPECT_EQ(kept->reason(), loss_reason::closed);
    EXPECT_EQ(std::move(*kept).release().error(), errc::lease_lost);
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, bad_options_are_told_by_their_field_and_leave_nothing) {
    const auto refused = [&](const acquire_options& bad, std::string_view field) {
        const auto got = one.mutex("job").acquire(bad);
        ASSERT_FALSE(got);
        EXPECT_EQ(got.error(), errc::invalid_argument);
        EXPECT_TRUE(got.error().detail.starts_with(field)) << got.error().detail;
    };
    refused({.ttl = 0s}, "ttl");
    refused({.ttl = -1s}, "ttl");
    refused({.ttl = 10ms - 1ns}, "ttl");
    refused({.ttl = 24h + 1ns}, "ttl");
    refused({.ttl = duration::max()}, "ttl");
    refused({.wait = -1ns}, "wait");
    refused({.max_hold = 0s}, "max_hold");
    refused({.max_hold = -5s}, "max_hold");
    refused({.local_passes = 101}, "local_passes");
    EXPECT_EQ(one.mutex("").acquire().error(), errc::invalid_argument);
    EXPECT_EQ(one.mutex(std::string(513, 'x')).acquire().error(), errc::invalid_argument);
    EXPECT_EQ(one.mutex(std::string_view("a\0b", 3)).acquire().error(), errc::invalid_argument);
    EXPECT_EQ(one.mutex("\xFF").acquire().error(), errc::invalid_argument);
    EXPECT_TRUE(bed->leftovers().empty());
    ASSERT_TRUE(is_free());
    EXPECT_TRUE(take(one).release()) << "connected, which may take longer than the shortest ttl";
    EXPECT_TRUE(one.mutex("job").acquire({.ttl = 24h, .wait = 0s}).value().release());
    const auto brief = one.mutex("job").acquire({.ttl = 10ms, .wait = 0s});
    EXPECT_TRUE(brief || brief.error() != errc::invalid_argument)
        << "over before all servers have answered, perhaps, but nothing is wrong with it: "
        << to_string(brief.error());
}

TEST_P(mutex_promise, who_barges_is_served_too_and_never_meets_another) {
    auto held = take(two);
    auto barging = options(forever);
    barging.barging = true;
    std::atomic<int> inside = 0;
    std::atomic<int> served = 0;
    std::vector<std::jthread> all;
    for (int i = 0; i < 4; ++i) {
        all.emplace_back([&, i] {
            auto got =
                (i % 2 == 0 ? one : two).mutex("job").acquire(i < 3 ? barging : options(forever));
            ASSERT_TRUE(got) << to_string(got.error());
            EXPECT_EQ(++inside, 1);
            ++served;
            --inside;
            EXPECT_TRUE(std::move(*got).release());
        });
    }
    wait_for_waiters(2);  // one of each client; the others stand behind them
    ASSERT_TRUE(std::move(held).release());
    all.clear();
    EXPECT_EQ(served, 4);
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, the_engines_clock_can_be_compared) {
    const auto seen = one.compare_clocks();
    if (!seen && seen.error() == errc::unsupported) GTEST_SKIP() << "allowed: it has no clock";
    ASSERT_TRUE(seen) << to_string(seen.error());
    EXPECT_LT(seen->offset, 2s);
    EXPECT_GT(seen->offset, -2s);
}

TEST_P(mutex_promise, many_contenders_never_meet_and_none_is_forgotten) {
    std::atomic<int> inside = 0;
    std::atomic<int> done = 0;
    std::uint64_t last_fence = 0;  // guarded by the mutex under test
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&, i] {
            for (int n = 0; n < 50; ++n) {
                auto held = (i % 2 == 0 ? one : two).mutex("hot").acquire(options(forever)).value();
                EXPECT_EQ(inside.fetch_add(1), 0);
                EXPECT_GT(held.fence().value, last_fence);
                last_fence = held.fence().value;
                inside.fetch_sub(1);
                EXPECT_TRUE(std::move(held).release());
                ++done;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(done, 400);
    EXPECT_EQ(bed->leftovers(), std::vector<std::string>());
}

TEST_P(mutex_promise, the_contenders_of_one_client_take_one_place_in_the_engines_line) {
    auto held = take(two);
    std::vector<std::thread> threads;
    for (int i = 0; i < 10; ++i) {
        threads.emplace_back(
            [&] { EXPECT_TRUE(one.mutex("job").acquire(options(forever)).value().release()); });
    }
    wait_for("all to wait", [&] { return one.statistics().waiting == 10; });
    wait_for_waiters(1);
    ASSERT_TRUE(std::move(held).release());
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(mutex_promise, who_waits_behind_others_of_its_client_can_time_out_and_be_cancelled) {
    const auto held = take(two);
    std::stop_source stop;
    auto first = std::async(std::launch::async, [&] {
        return one.mutex("job").acquire({.ttl = ttl, .wait = forever, .stop = stop.get_token()});
    });
    wait_for_waiters(1);
    auto behind = std::async(std::launch::async, [&] {
        return one.mutex("job").acquire({.ttl = ttl, .wait = forever, .stop = stop.get_token()});
    });
    auto late =
        std::async(std::launch::async, [&] { return one.mutex("job").acquire(options(ttl / 4)); });
    wait_for("all to wait", [&] { return one.statistics().waiting == 3; });
    EXPECT_EQ(pass_until(late).error(), errc::timed_out);
    stop.request_stop();
    EXPECT_EQ(behind.get().error(), errc::cancelled);
    EXPECT_EQ(first.get().error(), errc::cancelled);
    expect_nobody_waits();
}

TEST_P(mutex_promise, a_lease_passes_on_inside_the_client_as_often_as_it_may) {
    acquire_options passing = options(forever);
    passing.local_passes = 3;
    auto held = one.mutex("job").acquire(passing).value();
    std::mutex guard;
    std::vector<std::uint64_t> fences{held.fence().value};
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            auto mine = one.mutex("job").acquire(passing).value();
            {
                const std::scoped_lock lock(guard);
                fences.push_back(mine.fence().value);
            }
            EXPECT_FALSE(is_free());
            EXPECT_TRUE(std::move(mine).release());
        });
    }
    wait_for("all to wait", [&] { return one.statistics().waiting == 8; });
    ASSERT_TRUE(std::move(held).release());
    for (auto& thread : threads) thread.join();
    EXPECT_TRUE(std::ranges::is_sorted(fences, std::ranges::less_equal{}) &&
                std::ranges::adjacent_find(fences) == fences.end())
        << "every holder has a fence of its own, larger than the one before";
    EXPECT_EQ(one.statistics().passed_on, 6U) << "three of each four";
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(mutex_promise, waiters_behind_a_passing_holder_that_lost_its_lease_go_on_by_themselves) {
    acquire_options passing = options(forever);
    passing.local_passes = 3;
    const auto held = one.mutex("job").acquire(passing).value();
    auto waiter =
        std::async(std::launch::async, [&] { return one.mutex("job").acquire(passing).value(); });
    wait_for("it to wait", [&] { return one.statistics().waiting == 1; });
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("the loss", [&] { return held.status() == lease_status::lost; });
    // The waiter looks each second, by a clock that it must have time to see.
    while (waiter.wait_for(20ms) != std::future_status::ready) bed->pass(1s);
    const auto next = waiter.get();
    EXPECT_TRUE(next.held());
    EXPECT_GT(next.fence(), held.fence());
    EXPECT_EQ(held.status(), lease_status::lost);
}

HOLDFAST_ON_EVERY_ENGINE(mutex_promise);

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
//
// What a mutex promises on every engine, by the face that users see.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/testbed.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class mutex_promise : public testing::TestWithParam<lease_engine> {
protected:
    acquire_options options(duration wait = duration::zero()) const {
        return {.ttl = ttl, .wait = wait};
    }
    lease take(client& who, std::string_view name = "job") {
        return who.mutex(name).acquire(options()).value();
    }
    bool is_free(std::string_view name = "job") {
        auto got = two.mutex(name).try_acquire(options());
        return got && std::move(*got).release();
    }
    std::uint32_t waiting(const std::string& name = "job") {
        const auto list = two.list(name).value();
        for (const auto& info : list) {
            if (info.name == name) return info.waiters;
        }
        return 0;
    }
    void wait_for_waiters(std::uint32_t count) {
        wait_for("waiters in line", [&] { return waiting() == count; });
    }
    /// Lets `total` pass in steps that a keeper can follow.
    void live_through(duration total, client& who) {
        const duration step = ttl / 6;
        for (duration passed{}; passed < total; passed += step) {
            const auto before = who.statistics();
            bed->pass(step);
            wait_for("the keeper to renew what is due", [&] {
                const auto now = who.statistics();
                return now.renewed > before.renewed || now.lost > before.lost || now.held == 0 ||
                       least_remaining(who) > ttl * 2 / 3 - 2 * step;
            });
        }
    }
    static duration least_remaining(client& who) {
        duration least = duration::max();
        const auto list = who.list().value();
        for (const auto& info : list) {
            if (info.remaining) least = std::min(least, *info.remaining);
        }
        return least;
    }

    std::unique_ptr<testbed> bed = GetParam().make();
    const duration ttl = bed->ttl();
    client one = bed->make_client();
    client two = bed->make_client();
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
    const auto next = waiter.get();  // on virtual time nothing but the hand-over can wake it
    EXPECT_GT(next.fence(), first);
    EXPECT_TRUE(next.held());
    EXPECT_EQ(two.statistics().handed_over, 1U);
}

TEST_P(mutex_promise, waiters_are_served_first_come_first_served) {
    auto held = take(one);
    std::mutex guard;
    std::vector<int> order;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&, i] {
            auto mine = (i % 2 == 0 ? one : two).mutex("job").acquire(options(forever)).value();
            {
                const std::scoped_lock lock(guard);
                order.push_back(i);
            }
            EXPECT_TRUE(std::move(mine).release());
        });
        wait_for_waiters(static_cast<std::uint32_t>(i + 1));
    }
    ASSERT_TRUE(std::move(held).release());
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST_P(mutex_promise, a_wait_that_runs_out_of_time_leaves_nothing_behind) {
    const auto held = take(one);
    auto waiter = std::async(std::launch::async,
                             [&] { return two.mutex("job").acquire(options(ttl / 4)); });
    wait_for_waiters(1);
    while (waiter.wait_for(0s) != std::future_status::ready) {
        bed->pass(ttl / 20);
        std::this_thread::yield();
    }
    EXPECT_EQ(waiter.get().error(), errc::timed_out);
    EXPECT_EQ(waiting(), 0U);
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
    EXPECT_EQ(waiting(), 0U);
}

TEST_P(mutex_promise, a_stop_that_came_before_the_call_ends_it_before_it_asks) {
    std::stop_source stop;
    stop.request_stop();
    const auto got = one.mutex("job").acquire({.ttl = ttl, .stop = stop.get_token()});
    EXPECT_EQ(got.error(), errc::cancelled);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(mutex_promise, a_lease_is_kept_for_as_long_as_it_is_held) {
    auto held = take(one);
    live_through(3 * ttl, one);
    EXPECT_TRUE(held.held());
    EXPECT_FALSE(held.lost().stop_requested());
    EXPECT_FALSE(is_free());
    EXPECT_GE(one.statistics().renewed, 3U) << "two thirds of a ttl is the longest pause";
    EXPECT_TRUE(std::move(held).release());
}

TEST_P(mutex_promise, a_holder_that_is_cut_off_knows_before_anyone_else_can_hold_it) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto cut_off = bed->client_on(line);
    const time_point asked = bed->time().now();
    const auto held = take(cut_off);
    line->set(interposed_store::line::black_hole);
    bool jeopardy = false;
    while (held.held()) {
        EXPECT_LT(bed->time().now(), asked + ttl) << "told after the engine's own expiry";
        jeopardy = jeopardy || held.status() == lease_status::jeopardy;
        bed->pass(ttl / 100);
    }
    EXPECT_FALSE(is_free()) << "the engine must still exclude others at that moment";
    EXPECT_EQ(held.status(), lease_status::lost);
    EXPECT_EQ(held.reason(), loss_reason::expired);
    EXPECT_EQ(held.remaining(), duration::zero());
    wait_for("lost() to fire", [&] { return held.lost().stop_requested(); });
    bed->pass(ttl);
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, a_renewal_that_fails_for_a_while_costs_nothing) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    auto held = take(shaky);
    line->set(interposed_store::line::cut);
    bed->pass(ttl / 3);
    wait_for("a failed renewal", [&] { return shaky.statistics().renewal_failures > 0; });
    wait_for("jeopardy", [&] { return held.status() == lease_status::jeopardy; });
    EXPECT_TRUE(held.held());
    line->set(interposed_store::line::whole);
    bed->pass(ttl / 10);
    wait_for("a renewal", [&] { return shaky.statistics().renewed > 0; });
    EXPECT_EQ(held.status(), lease_status::held);
    EXPECT_TRUE(std::move(held).release());
}

TEST_P(mutex_promise, a_paused_holder_sees_its_loss_at_the_first_look) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto sleeper = bed->client_on(line);
    auto held = take(sleeper);
    line->set(interposed_store::line::black_hole);  // a paused process sends nothing
    bed->pass(ttl + 5ms);
    EXPECT_FALSE(held.held());
    const auto next = take(two);
    line->set(interposed_store::line::whole);
    EXPECT_GT(next.fence(), held.fence()) << "so a resource that checks it refuses the old one";
    EXPECT_EQ(std::move(held).release().error(), errc::lease_lost);
    EXPECT_TRUE(next.held());
    EXPECT_FALSE(is_free());
}

TEST_P(mutex_promise, a_lease_that_the_engine_forgot_is_lost_at_the_next_renewal) {
    const auto held = take(one);
    std::atomic<bool> told = false;
    const std::stop_callback callback(held.lost(), [&] { told = true; });
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("the loss", [&] { return told.load(); });
    EXPECT_EQ(held.status(), lease_status::lost);
    EXPECT_EQ(held.reason(), loss_reason::taken);
    EXPECT_EQ(one.statistics().lost, 1U);
}

TEST_P(mutex_promise, max_hold_ends_a_task_that_never_ends) {
    const auto held =
        one.mutex("job").acquire({.ttl = ttl, .wait = 0s, .max_hold = 2 * ttl}).value();
    live_through(2 * ttl, one);
    wait_for("the loss", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(held.reason(), loss_reason::max_hold);
    bed->pass(ttl + 5ms);
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, a_callback_of_loss_may_use_the_client) {
    const auto held = take(one);
    std::atomic<bool> done = false;
    const std::stop_callback callback(held.lost(), [&] {
        auto other = one.mutex("other").try_acquire(options());
        done = other && std::move(*other).release();
    });
    bed->forget("job");
    bed->pass(ttl / 3 + 1ms);
    wait_for("the callback", [&] { return done.load(); });
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

TEST_P(mutex_promise, an_acquire_whose_answer_was_lost_is_settled_by_asking_again) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    line->set_for(interposed_store::line::one_way, 1);
    auto held = shaky.mutex("job").try_acquire(options());
    ASSERT_TRUE(held) << "it was granted by the lost answer: asking again must not be refused by "
                         "itself";
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(std::move(*held).release());
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, an_acquire_that_stays_unknown_is_undone_in_the_background) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    line->set(interposed_store::line::one_way);
    const auto got = shaky.mutex("job").try_acquire(options());
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error(), errc::outcome_unknown);
    line->set(interposed_store::line::whole);
    bed->pass(300ms);
    wait_for("the leftover to be undone", [&] { return is_free(); });
}

TEST_P(mutex_promise, a_release_whose_answer_was_lost_is_settled_by_asking_again) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    auto held = take(shaky);
    line->set_for(interposed_store::line::one_way, 1);
    EXPECT_TRUE(std::move(held).release());
    EXPECT_TRUE(is_free());
}

TEST_P(mutex_promise, an_engine_that_is_away_is_unavailable_and_nothing_is_held) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto away = bed->client_on(line);
    line->set(interposed_store::line::cut);
    const auto got = away.mutex("job").try_acquire(options());
    EXPECT_EQ(got.error(), errc::unavailable);
    EXPECT_TRUE(is_free());
    EXPECT_EQ(away.statistics().failed, 1U);
}

TEST_P(mutex_promise, the_standards_guards_work) {
    mutex a(one, "a", {.ttl = ttl});
    mutex b(one, "b", {.ttl = ttl});
    {
        const std::scoped_lock both(a, b);
        EXPECT_FALSE(is_free("a"));
        EXPECT_FALSE(is_free("b"));
        EXPECT_GT(a.current().fence().value, 0U);
    }
    EXPECT_TRUE(is_free("a"));
    EXPECT_TRUE(is_free("b"));

    mutex same(two, "a", {.ttl = ttl});
    std::unique_lock first(a);
    const std::unique_lock second(same, std::try_to_lock);
    EXPECT_FALSE(second.owns_lock());
    first.unlock();
    EXPECT_TRUE(same.try_lock_for(2s));
    same.unlock();
}

TEST_P(mutex_promise, the_std_face_excludes_the_threads_of_one_object) {
    mutex shared(one, "counter", {.ttl = ttl});
    int counter = 0;  // deliberately not atomic
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 100; ++n) {
                const std::scoped_lock guard(shared);
                ++counter;
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(counter, 800);
    EXPECT_EQ(one.statistics().acquired, 800U);
}

TEST_P(mutex_promise, locking_what_this_thread_has_locked_is_told_and_not_waited_for) {
    mutex a(one, "a", {.ttl = ttl});
    const std::scoped_lock guard(a);
    try {
        a.lock();
        FAIL() << "a second lock() returned";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::resource_deadlock_would_occur);
    }
}

TEST_P(mutex_promise, unlocking_what_was_lost_neither_throws_nor_touches_the_next_holder) {
    mutex a(one, "job", {.ttl = ttl});
    a.lock();
    bed->forget("job");
    const auto next = take(two);
    a.unlock();
    EXPECT_TRUE(next.held());
    EXPECT_EQ(one.mutex("job").try_acquire(options()).error(), errc::busy);
}

TEST_P(mutex_promise, the_std_face_throws_what_the_explicit_face_answers) {
    mutex bad(one, "");
    try {
        bad.lock();
        FAIL() << "an empty name was locked";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::error_code(errc::invalid_argument));
        EXPECT_NE(std::string(e.what()).find("name is empty"), std::string::npos);
    }
}

TEST_P(mutex_promise, closing_gives_everything_back_and_ends_every_wait) {
    const auto mine = take(one, "mine");
    const auto blocked = take(two, "job");
    auto waiter = std::async(std::launch::async,
                             [&] { return one.mutex("job").acquire(options(forever)); });
    wait_for_waiters(1);
    one.close();
    EXPECT_EQ(waiter.get().error(), errc::invalid_argument);
    EXPECT_EQ(waiting(), 0U);
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
    EXPECT_EQ(one.mutex("").acquire().error(), errc::invalid_argument);
    EXPECT_EQ(one.mutex(std::string(513, 'x')).acquire().error(), errc::invalid_argument);
    EXPECT_EQ(one.mutex(std::string_view("a\0b", 3)).acquire().error(), errc::invalid_argument);
    EXPECT_EQ(one.mutex("\xFF").acquire().error(), errc::invalid_argument);
    EXPECT_TRUE(bed->leftovers().empty());
    for (const duration fit : {duration(10ms), duration(24h)}) {
        EXPECT_TRUE(one.mutex("job").acquire({.ttl = fit, .wait = 0s}).value().release());
    }
}

TEST_P(mutex_promise, a_child_of_fork_holds_nothing_and_disturbs_nothing) {
    auto held = take(one);
    const pid_t child = ::fork();
    if (child == 0) {
        const bool right = !held.held() && held.reason() == loss_reason::forked &&
                           one.mutex("x").try_acquire(options()).error() == errc::invalid_argument;
        { const lease dropped = std::move(held); }
        { const client gone = std::move(one); }
        ::_exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(held.held());
    EXPECT_FALSE(is_free());
    EXPECT_TRUE(std::move(held).release());
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
    EXPECT_TRUE(bed->leftovers().empty());
}

INSTANTIATE_TEST_SUITE_P(on, mutex_promise, testing::ValuesIn(lease_engines()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
//
// What the asynchronous face promises on every engine: the same lock, without a thread for each
// that waits.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

std::ptrdiff_t threads_now() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

class async_promise : public mutex_case {
protected:
    std::future<result<lease>> acquire(client& who, const acquire_options& how,
                                       std::string_view name = "job") {
        std::promise<result<lease>> made;
        auto later = made.get_future();
        who.mutex(name).acquire_async(
            how, [p = std::move(made)](result<lease> got) mutable { p.set_value(std::move(got)); });
        return later;
    }
    static std::future<result<void>> release(lease held) {
        std::promise<result<void>> made;
        auto later = made.get_future();
        std::move(held).release_async(
            [p = std::move(made)](result<void> said) mutable { p.set_value(std::move(said)); });
        return later;
    }
};

TEST_P(async_promise, a_free_lock_is_acquired_and_released) {
    auto held = acquire(one, options(forever)).get().value();
    EXPECT_TRUE(held.held());
    EXPECT_FALSE(is_free());
    EXPECT_EQ(acquire(two, options()).get().error(), errc::busy);
    EXPECT_TRUE(release(std::move(held)).get());
    EXPECT_TRUE(is_free());
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(async_promise, a_waiter_is_woken_by_the_release_without_looking) {
    auto held = take(one);
    const auto first = held.fence();
    auto waiter = acquire(two, options(forever));
    wait_for_waiters(1);
    ASSERT_TRUE(release(std::move(held)).get());
    const auto next = waiter.get().value();  // on virtual time nothing but the handoff wakes it
    EXPECT_GT(next.fence(), first);
    EXPECT_EQ(two.statistics().handed_off, two.can().fair ? 1U : 0U);
}

TEST_P(async_promise, blocking_and_asynchronous_waiters_of_one_client_stand_in_one_line) {
    auto held = take(two);
    std::mutex guard;
    std::vector<int> order;
    const auto served = [&](int i, lease mine) {
        {
            const std::scoped_lock lock(guard);
            order.push_back(i);
        }
        std::move(mine).release_async([](result<void> said) { EXPECT_TRUE(said); });
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        if (i % 2 == 0) {
            one.mutex("job").acquire_async(
                options(forever), [&, i](result<lease> got) { served(i, std::move(got).value()); });
        } else {
            threads.emplace_back(
                [&, i] { served(i, one.mutex("job").acquire(options(forever)).value()); });
        }
        wait_for("it to wait", [&] { return one.statistics().waiting == std::uint64_t(i) + 1; });
    }
    wait_for_waiters(1);
    ASSERT_TRUE(std::move(held).release());
    for (auto& thread : threads) thread.join();
    wait_for("all to be served", [&] { return one.statistics().released == 6; });
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5}));
}

TEST_P(async_promise, a_lease_passes_on_between_asynchronous_waiters) {
    acquire_options passing = options(forever);
    passing.local_passes = 3;
    auto held = one.mutex("job").acquire(passing).value();
    auto next = acquire(one, passing);
    wait_for("it to wait", [&] { return one.statistics().waiting == 1; });
    const auto before = held.fence();
    ASSERT_TRUE(release(std::move(held)).get());
    const auto mine = next.get().value();
    EXPECT_EQ(mine.fence().value, before.value + 1);
    EXPECT_EQ(one.statistics().passed_on, 1U);
}

TEST_P(async_promise, a_wait_that_runs_out_of_time_leaves_nothing_behind) {
    const auto held = take(one);
    auto waiter = acquire(two, options(ttl / 4));
    wait_for_waiters(1);
    EXPECT_EQ(pass_until(waiter).error(), errc::timed_out);
    expect_nobody_waits();
}

TEST_P(async_promise, a_wait_is_cancelled_by_its_stop_token) {
    const auto held = take(one);
    std::stop_source stop;
    const acquire_options how{.ttl = ttl, .wait = forever, .stop = stop.get_token()};
    auto first = acquire(two, how);
    wait_for_waiters(1);
    auto behind = acquire(two, how);
    wait_for("both to wait", [&] { return two.statistics().waiting == 2; });
    stop.request_stop();
    EXPECT_EQ(first.get().error(), errc::cancelled);
    EXPECT_EQ(behind.get().error(), errc::cancelled);
    expect_nobody_waits();
    EXPECT_EQ(acquire(two, how).get().error(), errc::cancelled) << "a stop that came before";
}

TEST_P(async_promise, a_dead_holders_lock_is_found_by_a_look) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto dead = bed->client_on(line);
    const auto gone = take(dead);
    line->set(interposed_store::line::black_hole);
    auto waiter = acquire(one, options(forever));
    wait_for_waiters(1);
    while (waiter.wait_for(10ms) != std::future_status::ready) bed->pass(ttl / 20);
    EXPECT_GT(waiter.get().value().fence(), gone.fence());
    line->set(interposed_store::line::whole);  // or giving back what it held takes virtual time
}

TEST_P(async_promise, an_acquire_whose_answer_was_lost_is_settled_by_asking_again) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    line->set_for(interposed_store::line::one_way, 1);
    auto held = acquire(shaky, options()).get();
    ASSERT_TRUE(held);
    line->set_for(interposed_store::line::one_way, 1);
    EXPECT_TRUE(release(std::move(*held)).get());
    EXPECT_TRUE(is_free());
}

TEST_P(async_promise, a_release_that_stays_unknown_is_undone_in_the_background) {
    const auto line = std::make_shared<interposed_store>(bed->make_store());
    auto shaky = bed->client_on(line);
    auto held = acquire(shaky, options()).get().value();
    line->set(interposed_store::line::black_hole);
    EXPECT_EQ(release(std::move(held)).get().error(), errc::outcome_unknown);
    line->set(interposed_store::line::whole);
    // The background may only now have heard of it. Time must not run away from it either.
    wait_for("the release", [&, looks = 0]() mutable {
        if (looks++ % 50 == 0) bed->pass(300ms);
        return is_free();
    });
}

TEST_P(async_promise, bad_calls_are_told_at_once) {
    EXPECT_EQ(acquire(one, {.ttl = 0s}).get().error(), errc::invalid_argument);
    EXPECT_EQ(acquire(one, options(), "").get().error(), errc::invalid_argument);
    auto held = take(one);
    const lease moved = std::move(held);
    EXPECT_EQ(release(std::move(held)).get().error(), errc::invalid_argument);  // NOLINT
    EXPECT_TRUE(moved.held());
}

TEST_P(async_promise, closing_ends_every_wait_and_leaves_nothing) {
    const auto blocked = take(two);
    auto first = acquire(one, options(forever));
    wait_for_waiters(1);
    auto behind = acquire(one, options(forever));
    wait_for("both to wait", [&] { return one.statistics().waiting == 2; });
    one.close();
    EXPECT_EQ(first.get().error(), errc::invalid_argument);
    EXPECT_EQ(behind.get().error(), errc::invalid_argument);
    expect_nobody_waits();
    EXPECT_EQ(acquire(one, options()).get().error(), errc::invalid_argument);
}

TEST_P(async_promise, a_client_may_be_closed_and_destroyed_by_a_completion) {
    std::optional<client> brief(bed->make_client());
    auto held = take(two);
    const auto other = take(two, "other");
    std::promise<void> closed;
    std::promise<errc> behind;
    brief->mutex("job").acquire_async(options(forever), [&](const result<lease>& got) {
        EXPECT_TRUE(got);
        brief->close();
        brief.reset();
        EXPECT_EQ(got->reason(), loss_reason::closed);
        closed.set_value();
    });
    brief->mutex("other").acquire_async(options(forever), [&](const result<lease>& got) {
        behind.set_value(got ? errc::busy : got.error().code);
    });
    wait_for("both to wait", [&] { return waiting() == 1 && waiting("other") == 1; });
    ASSERT_TRUE(std::move(held).release());
    closed.get_future().get();
    EXPECT_EQ(behind.get_future().get(), errc::invalid_argument);
    EXPECT_TRUE(is_free());
    expect_nobody_waits("other");
}

TEST_P(async_promise, a_completion_may_use_the_client_and_what_it_throws_ends_there) {
    std::promise<bool> done;
    one.mutex("a").acquire_async(options(), [&](result<lease> got) {
        auto inner = one.mutex("b").acquire(options(forever));
        done.set_value(got && inner && std::move(*inner).release());
        throw 1;
    });
    EXPECT_TRUE(done.get_future().get());
    EXPECT_TRUE(acquire(one, options(), "c").get());
}

TEST_P(async_promise, thousands_wait_on_as_many_names_with_a_few_threads) {
    const std::size_t names = bed->many();
    std::vector<lease> held;
    std::vector<std::string> name;
    for (std::size_t i = 0; i < names; ++i) name.push_back("n/" + std::to_string(i));
    const acquire_options long_lived{.ttl = 60s, .wait = 0s};
    for (const auto& n : name) held.push_back(two.mutex(n).acquire(long_lived).value());
    const auto before = threads_now();
    std::atomic<std::size_t> granted = 0;
    for (const auto& n : name) {
        one.mutex(n).acquire_async({.ttl = 60s, .wait = forever}, [&](result<lease> got) {
            EXPECT_TRUE(got);
            ++granted;
        });
    }
    EXPECT_EQ(one.statistics().waiting, names);
    EXPECT_LE(threads_now(), before + 16) << "the async_driver, and the engine's own for each node";
    for (auto& one_held : held) ASSERT_TRUE(std::move(one_held).release());
    wait_for("all to be granted", [&] { return granted == names; }, 60s);
    EXPECT_EQ(one.statistics().acquired, names);
}

TEST_P(async_promise, a_client_takes_a_bounded_number_of_asynchronous_acquires) {
    if (bed->ttl() < 10s) {
        GTEST_SKIP() << "allowed: it is the client's bound; virtual time shows it in a moment";
    }
    constexpr std::size_t most = 100'000;
    std::vector<lease> held;
    for (int i = 0; i < 1000; ++i) held.push_back(take(two, "n/" + std::to_string(i)));
    std::atomic<std::size_t> ended = 0;
    for (std::size_t i = 0; i < most; ++i) {
        one.mutex("n/" + std::to_string(i % 1000))
            .acquire_async(options(forever), [&](const result<lease>&) { ++ended; });
    }
    EXPECT_EQ(ended, 0U);
    EXPECT_EQ(acquire(one, options(), "free").get().error(), errc::busy);
    one.close();
    EXPECT_EQ(ended, most);
}

HOLDFAST_ON_EVERY_ENGINE(async_promise);

}  // namespace
}  // namespace holdfast::test

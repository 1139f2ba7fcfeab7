// SPDX-License-Identifier: Apache-2.0
//
// Permits as users see them.
#include "conformance/lease/interposed_store.hpp"
#include "conformance/lease/mutex_fixture.hpp"

#include <holdfast/prometheus.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A machine whose clock is hours ahead.
class wrong_clock final : public clock {
public:
    explicit wrong_clock(clock& right) : right_(right) {}
    [[nodiscard]] time_point now() const noexcept override { return right_.now() + 5h; }
    [[nodiscard]] wall_time wall() const noexcept override { return right_.wall() + 5h; }
    void wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                    time_point when) override {
        right_.wait_until(held, cv, when == time_point::max() ? when : when - 5h);
    }

private:
    clock& right_;
};

class semaphore_promise : public mutex_case {
protected:
    void SetUp() override {
        if (!one.can().permits) GTEST_SKIP() << "allowed: this engine has no permits";
    }
    lease take_some(client& who, std::uint32_t count = 1, std::uint32_t of = 3) {
        return who.semaphore("job", of).acquire(count, options()).value();
    }
    errc refused(client& who, std::uint32_t count = 1, std::uint32_t of = 3) {
        auto got = who.semaphore("job", of).try_acquire(count, options());
        if (!got) return got.error().code;
        EXPECT_TRUE(std::move(*got).release());
        return errc{};
    }
};

TEST_P(semaphore_promise, as_many_hold_it_as_there_are_permits) {
    auto first = take_some(one);
    auto second = take_some(two);
    auto third = take_some(one);
    EXPECT_EQ(third.mode(),
              (lease_mode{.type = lease_mode::kind::permit, .permits = 1, .limit = 3}));
    EXPECT_EQ(refused(two), errc::busy);
    ASSERT_TRUE(std::move(first).release());
    EXPECT_EQ(refused(two), errc{});
    ASSERT_TRUE(std::move(second).release());
    ASSERT_TRUE(std::move(third).release());
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(semaphore_promise, one_release_gives_back_all_that_were_taken_at_once) {
    auto two_of_them = take_some(one, 2);
    EXPECT_EQ(refused(two, 2), errc::busy);
    ASSERT_TRUE(std::move(two_of_them).release());
    EXPECT_EQ(refused(two, 3), errc{});
}

TEST_P(semaphore_promise, permits_are_renewed_while_their_holder_lives) {
    const auto mine = take_some(one, 2);
    const auto other = take_some(two, 1);
    live_through(ttl * 2, one);
    EXPECT_TRUE(mine.held());
    EXPECT_EQ(refused(two, 2), errc::busy);
}

TEST_P(semaphore_promise, what_a_crashed_holder_had_comes_back) {
    auto cut = std::make_shared<interposed_store>(bed->make_store());
    client gone = bed->client_on(cut);
    const auto lost = take_some(gone, 2);
    const auto mine = take_some(one, 1);
    cut->set(interposed_store::line::black_hole);
    live_through(ttl * 3 / 2, one, [&] { return mine.remaining(); });
    EXPECT_FALSE(lost.held()) << "and it knows";
    wait_for("it to be declared lost", [&] { return lost.lost().stop_requested(); });
    EXPECT_EQ(refused(two, 2), errc{});
    EXPECT_EQ(refused(two, 3), errc::busy);
    cut->set(interposed_store::line::whole);  // it gives back what it lost, and waits for that
}

TEST_P(semaphore_promise, a_client_whose_clock_is_wrong_changes_nothing) {
    wrong_clock ahead(bed->time());
    client strange(bed->make_store(), {.time = &ahead});
    const auto theirs = take_some(strange, 2);
    EXPECT_EQ(refused(one, 2), errc::busy) << "theirs do not end earlier";
    const auto mine = take_some(one, 1);
    EXPECT_EQ(refused(strange, 1), errc::busy) << "and they do not end ours";
    EXPECT_TRUE(mine.held());
    auto waiter = std::async(std::launch::async,
                             [&] { return strange.semaphore("job", 3).acquire(options(forever)); });
    wait_for_waiters(1);
    EXPECT_EQ(refused(one, 1), errc::busy) << "it stands in line as anyone";
    strange.close();
    EXPECT_FALSE(waiter.get());
    wait_for("what it held, and its place in line to be over", [&] {
        bed->pass(100ms);
        return refused(two, 2) == errc{};
    });
}

TEST_P(semaphore_promise, one_that_wants_many_is_served_in_its_turn) {
    auto held = take_some(one, 1);
    auto big = std::async(std::launch::async, [this] {
        return two.semaphore("job", 3).acquire(3, options(forever)).value();
    });
    wait_for_waiters(1);
    EXPECT_EQ(two.statistics().waiting_by_mode.permit, 1U);
    EXPECT_THAT(to_prometheus(two.statistics()).value(),
                HasSubstr("holdfast_acquires_waiting{mode=\"permit\"} 1\n"));
    EXPECT_EQ(refused(one, 1), errc::busy) << "two are free, for the one that waits";
    ASSERT_TRUE(std::move(held).release());
    EXPECT_EQ(big.get().mode().permits, 3U);
}

TEST_P(semaphore_promise, a_larger_limit_lets_those_in_who_wait) {
    if (!one.can().resize) GTEST_SKIP() << "allowed: this engine has no resize()";
    auto held = take_some(one, 3);
    auto waiter = std::async(std::launch::async, [this] {
        return two.semaphore("job", 3).acquire(2, options(forever)).value();
    });
    wait_for_waiters(1);
    ASSERT_TRUE(one.semaphore("job", 3).resize(5));
    EXPECT_TRUE(waiter.get().held()) << "on virtual time nothing else can wake it";
    EXPECT_TRUE(held.held());
}

TEST_P(semaphore_promise, a_larger_limit_holds_for_those_who_say_a_smaller_one) {
    if (!one.can().resize) GTEST_SKIP() << "allowed: this engine has no resize()";
    ASSERT_TRUE(two.semaphore("job", 1).resize(3));
    auto held = take_some(one, 2, 1);
    EXPECT_EQ(held.mode().permits, 2U);
    EXPECT_EQ(refused(two, 2, 1), errc::busy) << "one is left";
    EXPECT_EQ(refused(two, 4, 1), errc::invalid_argument);
    EXPECT_EQ(refused(two, 1, 1), errc{});
    live_through(ttl * 2, one);
    EXPECT_TRUE(held.held()) << "it is renewed";
    EXPECT_EQ(refused(two, 2, 1), errc::busy);
    ASSERT_TRUE(std::move(held).release());
    EXPECT_EQ(refused(two, 3, 1), errc{});
}

TEST_P(semaphore_promise, a_smaller_limit_holds_for_those_who_say_another) {
    if (!one.can().resize) GTEST_SKIP() << "allowed: this engine has no resize()";
    auto held = take_some(one, 1, 3);
    ASSERT_TRUE(two.semaphore("job", 3).resize(1));
    EXPECT_TRUE(held.held());
    EXPECT_EQ(refused(two, 1, 100), errc::busy);
    EXPECT_EQ(refused(two, 2, 100), errc::invalid_argument);
    ASSERT_TRUE(std::move(held).release());
    EXPECT_EQ(refused(two, 1, 100), errc{});
}

TEST_P(semaphore_promise, what_cannot_be_is_refused_with_a_sentence) {
    EXPECT_EQ(refused(one, 4, 3), errc::invalid_argument);
    EXPECT_EQ(refused(one, 0, 3), errc::invalid_argument);
    EXPECT_EQ(refused(one, 1, 0), errc::invalid_argument);
    EXPECT_EQ(one.semaphore("", 3).acquire().error(), errc::invalid_argument);
    const auto none = one.can().resize ? errc::invalid_argument : errc::unsupported;
    EXPECT_EQ(one.semaphore("job", 3).resize(0).error(), none);
    auto mine = take_some(one);
    EXPECT_EQ(mine.downgrade().error(), errc::invalid_argument);
    EXPECT_THAT(two.mutex("job").try_acquire(options()).error().detail, HasSubstr("semaphore"));
}

TEST_P(semaphore_promise, never_more_hold_it_than_there_are_permits) {
    std::atomic<int> inside = 0;
    std::atomic<int> most = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
        threads.emplace_back([&, i] {
            auto s = (i % 2 == 0 ? one : two).semaphore("job", 3, options(forever));
            for (int n = 0; n < 25; ++n) {
                const int count = 1 + (i + n) % 3;
                auto held = s.acquire(static_cast<std::uint32_t>(count)).value();
                const int now = inside += count;
                int seen = most;
                while (now > seen && !most.compare_exchange_weak(seen, now)) {
                }
                inside -= count;
                ASSERT_TRUE(std::move(held).release());
            }
        });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_LE(most, 3);
    EXPECT_TRUE(bed->leftovers().empty());
}

TEST_P(semaphore_promise, many_wait_without_a_thread) {
    auto held = take_some(one, 3);
    std::atomic<int> granted = 0;
    auto s = two.semaphore("job", 3);
    for (int i = 0; i < 8; ++i) {
        s.acquire_async(options(forever), [&](const result<lease>& mine) {
            if (mine && mine->held()) ++granted;  // and gives it back
        });
    }
    wait_for_waiters(8);
    ASSERT_TRUE(std::move(held).release());
    wait_for("all to be granted", [&] { return granted == 8; });
}

HOLDFAST_ON_EVERY_ENGINE(semaphore_promise);

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
#include <holdfast/virtual_clock.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(virtual_clock, stands_still_until_told) {
    virtual_clock time;
    const time_point start = time.now();
    const wall_time wall = time.wall();
    EXPECT_EQ(time.now(), start);
    time.advance(3s);
    EXPECT_EQ(time.now(), start + 3s);
    EXPECT_EQ(time.wall(), wall + 3s);
}

TEST(virtual_clock, wakes_whoever_waits_for_a_moment_that_has_come_and_nobody_else) {
    virtual_clock time;
    std::mutex mutex;
    std::condition_variable cv;
    std::atomic<int> woken{0};
    const time_point start = time.now();
    const auto wait_until = [&](time_point when) {
        std::unique_lock held(mutex);
        while (time.now() < when) time.wait_until(held, cv, when);
        ++woken;
    };
    std::thread early([&] { wait_until(start + 1s); });
    std::thread late([&] { wait_until(start + 10s); });
    while (time.waiting() < 2) std::this_thread::yield();
    EXPECT_EQ(time.next_wake(), start + 1s);
    time.advance(1s);
    early.join();
    EXPECT_EQ(woken, 1);
    time.advance(9s);
    late.join();
    EXPECT_EQ(time.waiting(), 0U);
    EXPECT_EQ(time.next_wake(), time_point::max());
}

TEST(system_clock, goes_on_and_does_not_wait_for_what_has_passed) {
    auto& time = system_clock();
    const time_point start = time.now();
    std::mutex mutex;
    std::condition_variable cv;
    std::unique_lock held(mutex);
    time.wait_until(held, cv, start);
    while (time.now() < start + 2ms) time.wait_until(held, cv, start + 2ms);
    EXPECT_GE(time.now(), start + 2ms);
}

}  // namespace
}  // namespace holdfast

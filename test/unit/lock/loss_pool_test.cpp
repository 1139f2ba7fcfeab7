// SPDX-License-Identifier: Apache-2.0
#include "lock/loss_pool.hpp"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <future>
#include <list>
#include <mutex>
#include <stop_token>

namespace holdfast::detail {
namespace {

/// Callbacks that block until they are let go, and who waits for them to begin.
class loss_pool_test : public testing::Test {
protected:
    using callback = std::stop_callback<std::function<void()>>;

    /// Fires a stop whose callback blocks.
    void fire_blocking() {
        listeners_.emplace_back(fire_.emplace_back().get_token(), [this] {
            std::unique_lock held(mutex_);
            ++begun_;
            changed_.notify_all();
            changed_.wait(held, [&] { return passes_ > 0; });
            --passes_;
        });
        pool.fire(fire_.back());
    }
    void wait_for_blocked(std::size_t count) {
        std::unique_lock held(mutex_);
        changed_.wait(held, [&] { return begun_ == count; });
    }
    void unblock(std::size_t count) {
        const std::scoped_lock guard(mutex_);
        passes_ += count;
        changed_.notify_all();
    }
    /// Fires a stop whose callback returns at once; the future is ready when it ran.
    std::future<void> fire_quick() {
        auto told = std::make_shared<std::promise<void>>();
        listeners_.emplace_back(fire_.emplace_back().get_token(), [told] { told->set_value(); });
        pool.fire(fire_.back());
        return told->get_future();
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t begun_ = 0;
    std::size_t passes_ = 0;
    std::list<std::stop_source> fire_;
    std::list<callback> listeners_;

protected:
    loss_pool pool;
};

TEST_F(loss_pool_test, a_hundred_callbacks_that_block_delay_no_other) {
    for (int i = 0; i < 100; ++i) fire_blocking();
    wait_for_blocked(100);
    fire_quick().get();
    unblock(100);
}

TEST_F(loss_pool_test, at_its_bound_it_goes_on_when_one_callback_returns) {
    for (std::size_t i = 0; i < loss_pool::most_threads; ++i) fire_blocking();
    wait_for_blocked(loss_pool::most_threads);
    auto first = fire_quick();
    auto second = fire_quick();
    EXPECT_EQ(first.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    unblock(1);
    first.get();
    second.get();
    unblock(loss_pool::most_threads - 1);
}

TEST_F(loss_pool_test, a_burst_of_losses_is_fired_to_the_last) {
    std::vector<std::future<void>> all;
    for (int i = 0; i < 10'000; ++i) all.push_back(fire_quick());
    for (auto& one : all) one.get();
}

TEST_F(loss_pool_test, closing_waits_for_callbacks_and_fires_what_is_left) {
    for (std::size_t i = 0; i < loss_pool::most_threads; ++i) fire_blocking();
    auto late = fire_quick();
    auto closing = std::async(std::launch::async, [&] { pool.close(); });
    EXPECT_EQ(closing.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    unblock(loss_pool::most_threads);
    closing.get();
    EXPECT_EQ(late.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

TEST_F(loss_pool_test, a_callback_may_close_it) {
    std::promise<void> closed;
    std::stop_source source;
    const callback listener(source.get_token(), [&] {
        pool.close();
        closed.set_value();
    });
    pool.fire(source);
    closed.get_future().get();
}

TEST_F(loss_pool_test, by_hand_it_fires_in_a_step) {
    loss_pool quiet(upkeep::by_hand);
    const std::stop_source source;
    quiet.fire(source);
    EXPECT_FALSE(source.stop_requested());
    quiet.step();
    EXPECT_TRUE(source.stop_requested());
}

}  // namespace
}  // namespace holdfast::detail

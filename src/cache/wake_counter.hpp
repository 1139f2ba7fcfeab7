// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <stop_token>

/// "Look again": for a thread that waits for a message or for its stop token.
///
/// A waiter takes the count before it looks, and then waits only while the count is the same: what
/// happens between the look and the wait is not missed.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class wake_counter {
public:
    void tell() {
        {
            const std::scoped_lock guard(mutex_);
            ++told_;
        }
        changed_.notify_all();
    }
    [[nodiscard]] std::uint64_t count() {
        const std::scoped_lock guard(mutex_);
        return told_;
    }
    /// Requires: the stop token's callback calls tell().
    void wait(std::uint64_t seen, clock& time, time_point until) {
        std::unique_lock held(mutex_);
        while (told_ == seen && time.now() < until) time.wait_until(held, changed_, until);
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::uint64_t told_ = 0;
};

}  // namespace holdfast::detail

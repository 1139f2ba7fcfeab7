// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>

/// How many blocking calls of a client are under way, so that close() can wait for them.
///
/// A call costs two atomic operations; only the calls that end while somebody waits take the lock.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class open_calls {
public:
    class guard {
    public:
        explicit guard(open_calls& all) noexcept : all_(all) { ++all_.count_; }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;
        ~guard() {
            if (--all_.count_ == 0 && all_.awaited_) all_.tell();
        }

    private:
        open_calls& all_;
    };

    /// Waits until there are none, at most until `until`.
    void wait_for_none(clock& time, time_point until) {
        std::unique_lock held(mutex_);
        awaited_ = true;
        while (count_ > 0 && time.now() < until) time.wait_until(held, ended_, until);
    }

private:
    void tell() {
        const std::scoped_lock held(mutex_);
        ended_.notify_all();
    }

    std::atomic<std::size_t> count_{0};
    std::atomic<bool> awaited_{false};
    std::mutex mutex_;
    std::condition_variable ended_;
};

}  // namespace holdfast::detail

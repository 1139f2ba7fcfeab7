// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

/// Loads that no caller waits for: one thread, and a bounded queue.
/// Thread safety: all members may be called from any thread.
namespace holdfast::detail {

class background_loads {
public:
    using job = std::move_only_function<void()>;
    static constexpr std::size_t most_queued = 1024;

    background_loads() = default;
    background_loads(const background_loads&) = delete;
    background_loads& operator=(const background_loads&) = delete;

    /// Drops what has not begun; waits for the job that runs.
    ~background_loads() {
        thread_.request_stop();
        {
            const std::scoped_lock guard(mutex_);
            queue_.clear();
        }
        more_.notify_all();
    }

    /// False: the queue is full, and the job was not taken.
    [[nodiscard]] bool add(job one) {
        {
            const std::scoped_lock guard(mutex_);
            if (queue_.size() >= most_queued) return false;
            queue_.push_back(std::move(one));
            if (!thread_.joinable()) {
                thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
            }
        }
        more_.notify_one();
        return true;
    }

private:
    void work(const std::stop_token& stop) {
        for (;;) {
            job next;
            {
                std::unique_lock held(mutex_);
                if (!more_.wait(held, stop, [this] { return !queue_.empty(); })) return;
                next = std::move(queue_.front());
                queue_.pop_front();
            }
            next();
        }
    }

    std::mutex mutex_;
    std::condition_variable_any more_;
    std::deque<job> queue_;
    std::jthread thread_;
};

}  // namespace holdfast::detail

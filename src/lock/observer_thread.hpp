// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/upkeep.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

/// The thread that calls a client's observer.
///
/// Nothing in the library waits for an observer: events are queued, and the queue is bounded. The
/// thread starts with the first event. A lease's lost() does not pass through here (loss_pool.hpp),
/// so an observer that blocks delays its own events and nothing else.
namespace holdfast::detail {

class observer_thread {
public:
    explicit observer_thread(upkeep by = upkeep::threads) : by_(by) {}
    observer_thread(const observer_thread&) = delete;
    observer_thread& operator=(const observer_thread&) = delete;
    ~observer_thread();

    /// Runs it soon, in order, outside every lock of ours; what it throws ends there. False if it
    /// was dropped, because `most` wait already or the thread was closed.
    [[nodiscard]] bool post(std::function<void()> event, std::size_t most);

    /// Runs what is left and ends the thread. May be called from the thread itself; then it ends
    /// when the callback returns.
    void close();

    /// Runs what is queued. For whoever runs it by hand.
    void step();

private:
    struct desk {
        std::mutex mutex;
        std::condition_variable arrived;
        std::deque<std::function<void()>> events;
        bool closed = false;
    };
    static bool run_one(desk& desk, std::unique_lock<std::mutex>& held);
    static void run(const std::shared_ptr<desk>& desk);

    const upkeep by_;
    std::shared_ptr<desk> desk_ = std::make_shared<desk>();
    std::thread thread_;
};

}  // namespace holdfast::detail

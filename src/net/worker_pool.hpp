// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

/// A few threads for requests that wait for an engine, so that no loop does.
namespace holdfast::net {

class worker_pool {
public:
    using job = std::move_only_function<void()>;

    /// `queue` jobs may wait; more are refused.
    worker_pool(std::size_t threads, std::size_t queue);

    /// Runs what waits, then ends.
    ~worker_pool();
    worker_pool(const worker_pool&) = delete;
    worker_pool& operator=(const worker_pool&) = delete;

    /// False if too many wait already.
    [[nodiscard]] bool offer(job work);

private:
    void run();

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<job> waiting_;
    std::size_t bound_;
    bool ending_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace holdfast::net

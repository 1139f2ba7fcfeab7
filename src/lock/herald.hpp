// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

/// The one thread on which users' callbacks run.
///
/// The keeper must never wait for a callback, or one user's slow reaction to one lost lease would lose
/// the others. So it only tells the herald, which starts its thread with the first thing to tell.
namespace holdfast::detail {

class herald {
public:
    herald() = default;
    herald(const herald&) = delete;
    herald& operator=(const herald&) = delete;
    ~herald();

    /// Runs it soon, in order, outside every lock of ours. What it throws ends there.
    void tell(std::function<void()> news);

    /// Runs what is left and ends the thread. May be called from the thread itself; then it ends when
    /// the callback returns.
    void close();

private:
    struct desk {
        std::mutex mutex;
        std::condition_variable arrived;
        std::deque<std::function<void()>> news;
        bool closed = false;
    };
    static void run(const std::shared_ptr<desk>& desk);

    std::shared_ptr<desk> desk_ = std::make_shared<desk>();
    std::thread thread_;
};

}  // namespace holdfast::detail

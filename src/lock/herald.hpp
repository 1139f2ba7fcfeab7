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

/// The one thread on which users' callbacks run.
///
/// The keeper must never wait for a callback, or one user's slow reaction to one lost lease would
/// lose the others. So it only tells the herald, which starts its thread with the first thing to
/// tell. What ends a user's work comes first; what is only for an observer waits in a queue of its
/// own, which is bounded.
namespace holdfast::detail {

class herald {
public:
    explicit herald(upkeep by = upkeep::threads) : by_(by) {}
    herald(const herald&) = delete;
    herald& operator=(const herald&) = delete;
    ~herald();

    /// Runs it soon, in order, outside every lock of ours. What it throws ends there.
    void tell(std::function<void()> news);

    /// The same for what may be dropped: after all that is to be told, and only if fewer than
    /// `most` wait. False if it was dropped.
    [[nodiscard]] bool mention(std::function<void()> news, std::size_t most);

    /// Runs what is left and ends the thread. May be called from the thread itself; then it ends
    /// when the callback returns.
    void close();

    /// Runs what there is to tell. For whoever runs it by hand.
    void step();

private:
    struct desk {
        std::mutex mutex;
        std::condition_variable arrived;
        std::deque<std::function<void()>> news;
        std::deque<std::function<void()>> mentions;
        bool closed = false;

        /// What to run next; empty if there is nothing.
        [[nodiscard]] std::function<void()> next();
    };
    static bool tell_one(desk& desk, std::unique_lock<std::mutex>& held);
    static void run(const std::shared_ptr<desk>& desk);
    void arrive();

    const upkeep by_;
    std::shared_ptr<desk> desk_ = std::make_shared<desk>();
    std::thread thread_;
};

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/upkeep.hpp"

#include <holdfast/clock.hpp>

#include <condition_variable>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

/// Calls that are made at a later time, by one thread of its own, or by hand in a simulation.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class delayed_calls {
public:
    /// Past that, further calls are refused: whoever asks for one can do without.
    static constexpr std::size_t most = 20'000;

    explicit delayed_calls(clock& time, upkeep by = upkeep::threads) : time_(time), by_(by) {}
    delayed_calls(const delayed_calls&) = delete;
    delayed_calls& operator=(const delayed_calls&) = delete;
    /// Calls that are not due yet are not made any more.
    ~delayed_calls() { close(); }

    /// `what` must be short and must not throw. The thread starts with the first call. False, and
    /// nothing will be called, if there are too many or this is closed.
    bool at(time_point when, std::function<void()> what);

    /// By hand: makes the calls that are due. Answers when the next one is.
    time_point step();

    /// Requires: not called by one of its calls.
    void close();

private:
    void run();
    /// Makes the first call, if it is due.
    bool make_one(std::unique_lock<std::mutex>& held);

    clock& time_;
    const upkeep by_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::multimap<time_point, std::function<void()>> calls_;
    bool closed_ = false;
    std::thread thread_;
};

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

/// One thread for what an engine does by itself: a look at the world every so often, and calls that
/// were put off for a moment.
namespace holdfast::redis {

/// Thread safety: all members may be called from any thread.
class background {
public:
    using call = std::move_only_function<void()>;

    /// `look` runs once per period, on the thread, which is started by the first use.
    background(clock& time, duration period, std::function<void()> look);
    ~background();
    background(const background&) = delete;
    background& operator=(const background&) = delete;

    void start();

    /// Looks as soon as it can, but not before `rest` has passed since the last look.
    void check_soon(duration rest);

    /// Runs the call at that time; at once, on this thread, if stop() has been called.
    void later(time_point when, call put_off);

    /// Waits on the calling thread. False: stop() was called meanwhile.
    [[nodiscard]] bool pause_until(time_point when);

    /// Ends the thread. The calls that were put off run on this one.
    void stop();

private:
    void serve();

    clock& time_;
    const duration period_;
    const std::function<void()> look_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::multimap<time_point, call> calls_;
    time_point checked_at_ = time_point::min();
    time_point next_check_;
    bool stopping_ = false;
    std::thread thread_;
};

}  // namespace holdfast::redis

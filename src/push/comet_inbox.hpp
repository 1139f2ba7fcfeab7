// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/reply.hpp>
#include <holdfast/push/comet.hpp>

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

/// What happens to a Comet, from whatever thread, for its own thread to see in order.
namespace holdfast::push {

struct entered_room {
    std::size_t loop;
    std::string room;
};
struct left_room {
    std::size_t loop;
    std::string room;
};
/// A viewer wants what it missed.
struct asked_history {
    std::size_t loop;
    std::string room;
    position after;
    std::uint64_t ticket;
    unsigned tries = 0;
};
struct answered_history {
    asked_history what;
    result<reply> answer;
};
struct heard_message {
    std::string room;
    std::string payload;
};
struct heard_gap {
    std::string room;
};
/// The answer to a room_track's read. `life` tells whether it is still the same room_track.
struct answered_read {
    std::string room;
    std::uint64_t life;
    result<reply> answer;
};

using comet_task = std::variant<entered_room, left_room, asked_history, answered_history,
                                heard_message, heard_gap, answered_read>;

/// Thread safety: all members may be called from any thread.
class comet_inbox {
public:
    void put(comet_task task) {
        {
            const std::scoped_lock guard(mutex_);
            if (closed_) return;
            tasks_.push_back(std::move(task));
        }
        changed_.notify_one();
    }

    void close() {
        {
            const std::scoped_lock guard(mutex_);
            closed_ = true;
            tasks_.clear();
        }
        changed_.notify_one();
    }

    /// Waits for tasks until then. False: it was closed.
    [[nodiscard]] bool take(clock& time, time_point until, std::vector<comet_task>& into) {
        into.clear();
        std::unique_lock guard(mutex_);
        while (!closed_ && tasks_.empty() && time.now() < until) {
            time.wait_until(guard, changed_, until);
        }
        into.swap(tasks_);
        return !closed_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<comet_task> tasks_;
    bool closed_ = false;
};

}  // namespace holdfast::push

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <sched.h>

#include <atomic>
#include <chrono>

/// What a thread in company does before it sleeps: it lets the others run, a few times.
///
/// To sleep and to be woken costs a thread about as much as four turns of sched_yield(), more if
/// the other processor has to be woken for it. Where many callers share a connection, the reply is
/// mostly there when the turn comes round: the others have queued their commands meanwhile, and the
/// batch has been carried out. So the threads take turns, and hardly anyone sleeps.
///
/// That is right only among ourselves. A turn that takes a millisecond went to another program;
/// then giving way wastes the share of the processor that the replies need, and we sleep at once
/// for a while, as a program should that has nothing to do.
namespace holdfast::redis {

/// Thread safety: all members may be called from any thread.
class way_giver {
public:
    explicit way_giver(clock& time) noexcept : time_(time) {}

    /// Lets others run until `ready()`, at most `turns` times. False: sleep.
    template <class Ready>
    [[nodiscard]] bool until(const Ready& ready, int turns) {
        time_point before = time_.now();
        if (before < crowded_until_.load(std::memory_order_relaxed)) return false;
        for (int i = 0; i < turns; ++i) {
            ::sched_yield();
            const time_point after = time_.now();
            if (after - before > long_turn) {
                crowded_until_.store(after + rest, std::memory_order_relaxed);
                return ready();
            }
            if (ready()) return true;
            before = after;
        }
        return false;
    }

private:
    static constexpr duration long_turn = std::chrono::milliseconds(1);
    static constexpr duration rest = std::chrono::milliseconds(20);

    clock& time_;
    std::atomic<time_point> crowded_until_{time_point::min()};
};

}  // namespace holdfast::redis

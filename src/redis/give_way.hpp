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
/// That is right only among ourselves. A turn that takes a millisecond went to another program; and
/// where the reply is not there after a few turns, the server or the reader waits for a processor
/// that we keep busy. So it is kept up only as long as it succeeds, three times for each failure.
/// Else we sleep at once for a while, as a program should that has nothing to do.
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
                stop_until(after + rest);
                return ready();
            }
            if (ready()) {
                note_success();
                return true;
            }
            before = after;
        }
        note_failure(before);
        return false;
    }

private:
    static constexpr duration long_turn = std::chrono::milliseconds(1);
    static constexpr duration rest = std::chrono::milliseconds(20);
    static constexpr int first_credit = 8;
    static constexpr int most_credit = 64;
    static constexpr int cost_of_failure = 3;

    // Threads may overwrite each other's credit: it is a tendency, not an account.
    void note_success() noexcept {
        const int now = credit_.load(std::memory_order_relaxed);
        if (now < most_credit) credit_.store(now + 1, std::memory_order_relaxed);
    }
    void note_failure(time_point now) noexcept {
        const int left = credit_.load(std::memory_order_relaxed) - cost_of_failure;
        credit_.store(left, std::memory_order_relaxed);
        if (left < 0) stop_until(now + rest);
    }
    void stop_until(time_point when) noexcept {
        credit_.store(first_credit, std::memory_order_relaxed);
        crowded_until_.store(when, std::memory_order_relaxed);
    }

    clock& time_;
    std::atomic<int> credit_{first_credit};
    std::atomic<time_point> crowded_until_{time_point::min()};
};

}  // namespace holdfast::redis

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>

/// What a thread does before it sleeps: it lets others run, for a moment.
///
/// To sleep and to be woken takes a thread as long as several turns of sched_yield(), and much
/// longer if a processor has gone to sleep meanwhile and has to be woken for it, more so in a
/// virtual machine. Where a server is near, its answer is there by then, and the server finds us
/// awake. And where many callers share a connection, the reply is mostly there when the turn comes
/// round: the others have queued their commands meanwhile, and the batch has been carried out.
///
/// That is right only as long as it succeeds. A turn that takes a millisecond, in which hardly any
/// of the others had one, went to another program that has work to do; and where the reply is not
/// there after a moment, the server is far away, or it waits for the processor that we keep busy.
/// So each success earns a little credit, and each failure costs more; without credit we sleep at
/// once for a while, as a program should that has nothing to do, and for longer each time that
/// nothing has been earned in between.
///
/// A thread that comes back after a pause sleeps at once, too, if it is alone: the server has gone
/// to sleep meanwhile, and is woken best on the processor that we leave to it, with what we have
/// just written in its cache.
namespace holdfast::detail {

/// After so long a server that had nothing else to do is asleep.
inline constexpr duration long_pause = std::chrono::microseconds(300);

/// Thread safety: all members may be called from any thread.
class adaptive_yield {
public:
    struct habits {
        int turns;                 ///< So many at once,
        duration patience;         ///< … for so long,
        int price_of_a_long_turn;  ///< … and what one costs that went to another program.
        duration longest_rest;     ///< How long it sleeps at once without credit, at most.
        duration pause;            ///< It sleeps at once if the last wait is longer ago.
    };

    /// For one of many: its turn comes round when all the others had theirs.
    static constexpr habits crowded(int turns) {
        return {turns, duration::max(), most_credit + 1, shortest_rest, duration::max()};
    }
    /// For one that does its own I/O: as long as to sleep and to be woken would take.
    static constexpr habits alone() {
        return {256, std::chrono::microseconds(100), most_credit / 2, std::chrono::seconds(1),
                long_pause};
    }

    /// For one that does the I/O with several servers: one of them is awake.
    static constexpr habits with_several() {
        habits those = alone();
        those.pause = duration::max();
        return those;
    }

    adaptive_yield(clock& time, const habits& how) noexcept : time_(time), how_(how) {}

    /// Something came that this did not wait for: it is no pause.
    void heard() noexcept { last_.store(time_.now(), std::memory_order_relaxed); }

    /// Lets others run until `ready()`. False: sleep.
    template <class Ready>
    [[nodiscard]] bool until(const Ready& ready) {
        const time_point start = time_.now();
        const duration idle = start - last_.exchange(start, std::memory_order_relaxed);
        if (idle > how_.pause) return false;
        if (start < crowded_until_.load(std::memory_order_relaxed)) return false;
        time_point before = start;
        unsigned taken = turns_taken_.load(std::memory_order_relaxed);
        for (int i = 0; i < how_.turns && before - start < how_.patience; ++i) {
            ::sched_yield();
            const time_point after = time_.now();
            const unsigned others = turns_taken_.fetch_add(1, std::memory_order_relaxed) - taken;
            const bool there = ready();
            if (after - before > long_turn && others * usual_turn < after - before) {
                pay(how_.price_of_a_long_turn, after);
                return there;
            }
            if (there) {
                earn();
                return true;
            }
            before = after;
            taken += others + 1;
        }
        pay(price_of_failure, before);
        return false;
    }

private:
    static constexpr duration long_turn = std::chrono::milliseconds(1);
    static constexpr duration usual_turn = std::chrono::microseconds(50);  ///< At most.
    static constexpr duration shortest_rest = std::chrono::milliseconds(20);
    static constexpr int first_credit = 8;
    static constexpr int most_credit = 64;
    static constexpr int price_of_failure = 3;

    // Threads may overwrite each other's credit: it is a tendency, not an account.
    void earn() noexcept {
        const int now = credit_.load(std::memory_order_relaxed);
        if (now == most_credit) return;
        credit_.store(now + 1, std::memory_order_relaxed);
        if (now + 1 == most_credit) rest_.store(shortest_rest, std::memory_order_relaxed);
    }
    void pay(int price, time_point now) noexcept {
        const int left = credit_.load(std::memory_order_relaxed) - price;
        if (left >= 0) return credit_.store(left, std::memory_order_relaxed);
        const duration rest = rest_.load(std::memory_order_relaxed);
        credit_.store(first_credit, std::memory_order_relaxed);
        rest_.store(std::min(2 * rest, how_.longest_rest), std::memory_order_relaxed);
        crowded_until_.store(now + rest, std::memory_order_relaxed);
    }

    clock& time_;
    const habits how_;
    std::atomic<unsigned> turns_taken_{0};  ///< By all.
    std::atomic<time_point> last_{time_point()};
    std::atomic<int> credit_{first_credit};
    std::atomic<duration> rest_{shortest_rest};
    std::atomic<time_point> crowded_until_{time_point::min()};
};

/// ppoll() by a thread that gives way before it sleeps.
[[nodiscard]] inline int poll_with_yield(adaptive_yield& waits, std::span<pollfd> fds,
                                         const timespec& at_most) {
    int ready = 0;
    const auto look = [&](const timespec& timeout) {
        ready = ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
        return ready != 0;
    };
    if (!waits.until([&] { return look({}); })) look(at_most);
    return ready;
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_state.hpp"
#include "lock/waiter_table.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>

/// The contenders of one client for each name, before the engine is asked.
///
/// Of all that wait in this process for a name, a few stand in the engine's line; the others stand
/// behind them here, first come, first served. Of those who want the name alone it is one: a
/// thousand threads cost the engine one place. Those who share it or want permits can be let in
/// together, so several of them stand there, but not so many that one client fills the queue. When
/// a holder may pass its lease on, nobody asks the engine while this client holds the name: the
/// lease goes from one to the next here, and the engine hears of the last one only.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class local_queues {
public:
    enum class turn : std::uint8_t { ask, wait };

    /// `most` of a name ask the engine at the same time.
    explicit local_queues(std::size_t most) : most_(most) {}

    /// Joins the queue: ask the engine now, or sleep until `your_turn` or a lease is passed on.
    [[nodiscard]] turn enter(const lock_name& name, waiter& who);

    /// Leaves before the turn came. False if it has come: the waiter has it among its events.
    [[nodiscard]] bool leave(const lock_name& name, waiter& who);

    /// The one whose turn it was is done asking, and holds nothing that could be passed on.
    void next(const lock_name& name);

    /// It holds the lease and may pass it on: the turn ends when it is over.
    void occupy(const lock_name& name, std::shared_ptr<const lease_state> holder);

    /// The holder that occupied the queue is done. Does nothing if its turn has ended already.
    void end_turn(const lease_state& holder);

    /// Gives the lease of the holder that occupies the queue to the first in it, as `next`. False
    /// if there is nobody, or its turn has ended already.
    [[nodiscard]] bool pass_on(const lease_state& holder, std::shared_ptr<lease_state> next);

    /// Ends the turn of a holder that lost its lease without a word. Waiters ask now and then.
    void check(const lock_name& name, time_point now);

private:
    struct queue {
        std::size_t asking = 0;
        std::deque<waiter*> behind;
        std::shared_ptr<const lease_state> holder;
    };

    void open(std::unordered_map<lock_name, queue>::iterator at);

    const std::size_t most_;
    std::mutex mutex_;
    std::unordered_map<lock_name, queue> queues_;
};

}  // namespace holdfast::detail

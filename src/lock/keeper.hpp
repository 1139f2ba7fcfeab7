// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/keeper_book.hpp"
#include "core/upkeep.hpp"
#include "lock/reporter.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/lease_store.hpp>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

/// Keeps the leases of one client: renews them, declares them lost at their deadline, and gives
/// back what was abandoned.
///
/// One thread, which decides by the book (core/keeper_book.hpp) and never waits for an engine or a
/// user: requests go out by `submit`, what happened goes to the reporter. It sleeps until the next
/// moment that the book names, and is woken early only by a lease that is due before that.
namespace holdfast::detail {

class keeper {
public:
    keeper(std::shared_ptr<lease_store> store, clock& time, duration request_timeout,
           std::shared_ptr<reporter> tells, upkeep by = upkeep::threads);
    ~keeper();

    /// False if the keeper is closing: then the lease is not kept, and nobody may believe in it.
    [[nodiscard]] bool keep(std::shared_ptr<lease_state> lease);
    void forget(lease_state& lease);

    /// Whom to tell of evictions. May be called when the keeper is gone.
    [[nodiscard]] std::function<void(const evicted&)> on_eviction() const;

    /// Ends whatever the owner has on the engine, in the background; repeated until the engine has
    /// answered or `until` (by then it has expired there).
    void leave_in_background(ask::leave request, time_point until);

    /// Gives back what is kept, ends all leases as `closed`, waits for the background until
    /// `until`, and ends the thread.
    void close(time_point until);

    [[nodiscard]] std::size_t size() const;

    /// Does what is due, and answers when there is more to do; time_point::max() if nothing is kept
    /// and nothing is left to give back. For whoever runs it by hand.
    time_point step();

private:
    struct chore {
        ask::leave request;
        time_point until;
        time_point next;
        bool sent = false;
        bool done = false;
    };

    /// What answers from the engine need. They come on the engine's own thread, perhaps late, and
    /// must never hold the last reference to the engine itself: so they share this and no more.
    struct desk {
        desk(clock& t, std::shared_ptr<reporter> r) : time(t), report(std::move(r)) {}

        void renewal_answered(lease_state& lease, const result<lease_reply>& reply);
        void evicted(const holdfast::evicted& told);
        void chore_answered(chore& one, bool done);
        void wake_before(time_point when);
        [[nodiscard]] time_point next_wake() const;
        [[nodiscard]] std::vector<std::shared_ptr<chore>> due_chores(time_point now);

        clock& time;
        const std::shared_ptr<reporter> report;
        mutable std::mutex mutex;
        std::condition_variable changed;
        keeper_book book;
        std::vector<std::shared_ptr<chore>> chores;
        time_point sleeps_until = time_point::min();
        bool drained = false;  ///< Closing has begun: what is kept has been given back.
        bool closing = false;  ///< The thread ends.
    };

    void run();
    [[nodiscard]] bool tend(std::unique_lock<std::mutex>& held);
    void send_renewals(std::vector<keeper_book::entry> due, time_point now);
    void send_chores(std::vector<std::shared_ptr<chore>> due, time_point now);

    const std::shared_ptr<lease_store> store_;
    const duration request_timeout_;
    const std::shared_ptr<desk> desk_;
    std::thread thread_;
};

}  // namespace holdfast::detail

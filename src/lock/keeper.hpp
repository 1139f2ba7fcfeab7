// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/keeper_book.hpp"
#include "core/leave_queue.hpp"
#include "core/upkeep.hpp"
#include "lock/reporter.hpp"

#include <holdfast/client.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/engine/lease_store.hpp>

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
    keeper(std::shared_ptr<lease_store> store, clock& time, const client_options& options,
           std::shared_ptr<reporter> tells, upkeep by = upkeep::threads);
    ~keeper();

    /// False if the keeper is closing: then the lease is not kept, and nobody may believe in it.
    [[nodiscard]] bool keep(std::shared_ptr<lease_state> lease);
    void forget(lease_state& lease);

    /// The holder itself renewed it, asked at `sent`. False if that came too late.
    [[nodiscard]] bool extended(lease_state& lease, time_point sent, duration ttl);
    /// The engine refused that renewal: it is lost, for the words of whoever took it, if any.
    void refused(lease_state& lease, std::string_view why);

    /// As keeper_book has them.
    void begin_turn(lease_state& lease);
    void end_turn(lease_state& lease);

    /// Whom to tell of evictions. May be called when the keeper is gone.
    [[nodiscard]] std::function<void(const evicted&)> on_eviction() const;

    /// Ends whatever the owner has on the engine, in the background; repeated until the engine has
    /// answered or `until` (by then it has expired there). False if the keeper has ended.
    /// `finds`: as leave_queue::entry has it.
    [[nodiscard]] bool leave_in_background(ask::leave request, time_point until,
                                           std::uint32_t finds = 0);
    /// The owner has released; a late request of it may still be carried out until `until`.
    void doubt_in_background(ask::leave request, time_point until, std::uint32_t finds);
    /// Gives back what was held. What may still be carried out for it, too, late.
    [[nodiscard]] bool give_back(const lease_state& lease, time_point until);

    /// Closing, in two steps. From the first on nothing is kept: what was kept is lost as `closed`
    /// and given back, and so is what was lost before and is still in somebody's hands. The second
    /// waits for the background until `until` and ends the thread; it answers how many requests to
    /// give something back are unanswered.
    void begin_close();
    [[nodiscard]] std::size_t close(time_point until);

    [[nodiscard]] std::size_t size() const;
    /// How much is to be given back and not answered yet.
    [[nodiscard]] std::size_t leaving() const;

    /// Does what is due, and answers when there is more to do; time_point::max() if nothing is kept
    /// and nothing is left to give back. For whoever runs it by hand.
    time_point step();

private:
    /// What answers from the engine need. They come on the engine's own thread, perhaps late, and
    /// must never hold the last reference to the engine itself: so they share this and no more.
    struct desk {
        desk(clock& t, std::shared_ptr<reporter> r, clock_step_policy how)
            : time(t), report(std::move(r)), on_clock_step(how) {}

        void clock_stepped(const lease_state& known, const clock_step& step);
        void renewal_answered(lease_state& lease, const result<lease_reply>& reply);
        void evicted(const holdfast::evicted& told);
        void leave_answered(leave_queue::handle one, const result<lease_reply>& reply);
        [[nodiscard]] keeper_book::entry heir_of(const lease_state& lease) const;
        void note_loss(const std::shared_ptr<lease_state>& lease);
        void wake_before(time_point when);
        [[nodiscard]] time_point next_wake() const;

        clock& time;
        const std::shared_ptr<reporter> report;
        const clock_step_policy on_clock_step;
        mutable std::mutex mutex;
        std::condition_variable changed;
        keeper_book book;
        leave_queue leaves;
        /// Lost by time or by the engine's word, and perhaps still in somebody's hands: the engine
        /// may have it until it is given back.
        std::vector<std::weak_ptr<lease_state>> lost;
        std::size_t sweep_lost_at = 64;
        time_point sleeps_until = time_point::min();
        bool closing = false;  ///< What is kept has been given back, and nothing more is kept.
        bool ended = false;    ///< The thread ends.
    };

    void run();
    [[nodiscard]] bool tend(std::unique_lock<std::mutex>& held);
    void send_renewals(std::vector<keeper_book::entry> due, time_point now);
    void send_leaves(std::vector<leave_queue::handle> due, time_point now);

    const std::shared_ptr<lease_store> store_;
    const duration request_timeout_;
    const std::shared_ptr<desk> desk_;
    std::thread thread_;
};

}  // namespace holdfast::detail

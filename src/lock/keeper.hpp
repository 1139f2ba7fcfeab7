// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/keeper_book.hpp"
#include "lock/counters.hpp"
#include "lock/herald.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/lease_store.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

/// Keeps the leases of one client: renews them, declares them lost at their deadline, and gives back
/// what was abandoned.
///
/// One thread, which decides by the book (core/keeper_book.hpp) and never waits for an engine or a
/// user: requests go out by `submit`, callbacks go to the herald. It sleeps until the next moment that
/// the book names, and is woken early only by a lease that is due before that.
namespace holdfast::detail {

class keeper : public std::enable_shared_from_this<keeper> {
public:
    keeper(std::shared_ptr<lease_store> store, clock& time, duration request_timeout,
           std::shared_ptr<counters> count);
    ~keeper();

    /// Starts the thread; apart from the constructor because the thread's requests refer to this by
    /// weak pointers.
    void start();

    void keep(std::shared_ptr<lease_state> lease);
    void forget(lease_state& lease);

    /// Ends whatever the owner has on the engine, in the background; repeated until the engine has
    /// answered or `until` (by then it has expired there).
    void leave_in_background(ask::leave request, time_point until);

    /// Gives back what is kept, ends all leases as `closed`, waits for the background until `until`,
    /// and ends the thread.
    void close(time_point until);

    [[nodiscard]] std::size_t size() const;

private:
    struct chore {
        ask::leave request;
        time_point until;
        time_point next;
        bool sent = false;
        bool done = false;
    };

    void run();
    void send_renewals(std::vector<keeper_book::entry> due, time_point now);
    void renewal_answered(lease_state& lease, const result<lease_reply>& reply);
    void tell_losses(std::vector<keeper_book::entry> lost);
    void send_chores(std::vector<std::shared_ptr<chore>> due, time_point now);
    [[nodiscard]] std::vector<std::shared_ptr<chore>> due_chores(time_point now);
    [[nodiscard]] time_point next_wake() const;
    void wake_before(time_point when);

    const std::shared_ptr<lease_store> store_;
    clock& clock_;
    const duration request_timeout_;
    const std::shared_ptr<counters> count_;
    herald herald_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    keeper_book book_;
    std::vector<std::shared_ptr<chore>> chores_;
    time_point sleeps_until_ = time_point::min();
    bool closing_ = false;
    std::thread thread_;
};

}  // namespace holdfast::detail

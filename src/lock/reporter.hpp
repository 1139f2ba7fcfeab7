// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_state.hpp"
#include "lock/counters.hpp"
#include "lock/loss_pool.hpp"
#include "lock/observer_thread.hpp"

#include <holdfast/observer.hpp>

#include <memory>

/// What happens to leases, counted, and told to whoever listens: to the client's observer, and to
/// the listener that a lease may have of its own.
///
/// One place for all, so that what they hear and what the statistics say agree. What nobody asked
/// for is counted and no more: no copy, no thread.
///
/// Thread safety: all members may be called from any thread, with or without our locks held: users'
/// code runs on other threads. The observer has one of its own (observer_thread.hpp); callbacks of
/// lost() run in a pool (loss_pool.hpp).
namespace holdfast::detail {

class reporter {
public:
    reporter(lease_observer listens, std::size_t most, std::shared_ptr<counters> count,
             upkeep by = upkeep::threads)
        : observer_(std::make_shared<const lease_observer>(std::move(listens))),
          most_(most),
          count_(std::move(count)),
          pool_(by),
          events_(by) {}

    void acquired(const lease_state& lease, duration waited, grant_path path);
    /// `listener` hears of this name's leases alone; null for nobody.
    void refused(const lock_name& name, const error& why, duration waited,
                 const std::shared_ptr<const lease_observer>& listener);
    /// Reads the clock only if somebody listens.
    void released(const lease_state& lease, const clock& time);
    void renewed(const lease_state& lease, duration slack);
    void not_renewed();
    void jeopardy(const lease_state& lease, duration left, const error& why);
    void clock_stepped(duration by);
    /// Fires lost(), too. Requires: the reason is set.
    void lost(const lease_state& lease);
    /// A lease that turned out lost when it was released: nobody waits for its lost() any more.
    void lost_at_release(const lease_state& lease, loss_reason why, const std::string& text = {});

    /// Tells what is left and ends the threads.
    void close() {
        pool_.close();
        events_.close();
    }

    /// Tells what there is to tell. For whoever runs it by hand.
    void step() {
        pool_.step();
        events_.step();
    }

private:
    void mention_loss(const lease_state& lease, loss_reason why, const std::string& text);
    /// Tells the client's observer and the listener what `make` says, if they want to hear it.
    template <class Event, class Make>
    void mention(const std::shared_ptr<const lease_observer>& listener,
                 std::function<void(const Event&)> lease_observer::* to, const Make& make);

    const std::shared_ptr<const lease_observer> observer_;
    const std::size_t most_;
    const std::shared_ptr<counters> count_;
    loss_pool pool_;
    observer_thread events_;
};

}  // namespace holdfast::detail

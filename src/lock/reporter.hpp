// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_state.hpp"
#include "lock/counters.hpp"
#include "lock/herald.hpp"

#include <holdfast/observer.hpp>

#include <memory>

/// What happens to leases, counted, and told to whoever listens.
///
/// One place for both, so that what the observer hears and what the statistics say agree. What the
/// observer did not ask for is counted and no more: no copy, no thread.
///
/// Thread safety: all members may be called from any thread, with or without our locks held: the
/// user's code runs on the herald's thread.
namespace holdfast::detail {

class reporter {
public:
    reporter(lease_observer listens, std::size_t most, std::shared_ptr<counters> count,
             upkeep by = upkeep::threads)
        : observer_(std::make_shared<const lease_observer>(std::move(listens))),
          most_(most),
          count_(std::move(count)),
          herald_(by) {}

    void acquired(const lease_state& lease, duration waited, grant_path path);
    void refused(const lock_name& name, const error& why, duration waited);
    /// Reads the clock only if somebody listens.
    void released(const lease_state& lease, const clock& time);
    void renewed(const lease_state& lease, duration slack);
    void not_renewed();
    void jeopardy(const lease_state& lease, duration left, const error& why);
    /// Fires lost(), too. Requires: the reason is set.
    void lost(const lease_state& lease);
    /// A lease that turned out lost when it was released: nobody waits for its lost() any more.
    void lost_at_release(const lease_state& lease, loss_reason why, std::string text = {});

    /// Tells what is left and ends the herald's thread.
    void close() { herald_.close(); }

    /// Tells what there is to tell. For whoever runs it by hand.
    void step() { herald_.step(); }

private:
    void mention_loss(const lease_state& lease, loss_reason why, std::string text);
    template <class Event>
    void mention(std::function<void(const Event&)> lease_observer::* to, Event what);

    const std::shared_ptr<const lease_observer> observer_;
    const std::size_t most_;
    const std::shared_ptr<counters> count_;
    herald herald_;
};

}  // namespace holdfast::detail

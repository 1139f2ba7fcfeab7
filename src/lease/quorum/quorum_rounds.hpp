// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/quorum/delayed_calls.hpp"
#include "lease/quorum/quorum_cleanup.hpp"
#include "lease/quorum/quorum_lease_store.hpp"
#include "lease/quorum/quorum_machine.hpp"
#include "lease/quorum/quorum_nodes.hpp"
#include "lease/quorum/quorum_owners.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

/// What drives the machines of a quorum: sends what they say to the nodes, brings back the answers.
///
/// A round is one request's machine and whoever wants to know its outcome. It lives until its last
/// node has answered, also when the outcome has long been told, and also when the store is gone:
/// then the door is closed, and nothing is sent any more.
namespace holdfast::detail {

/// Thread safety: all members may be called from any thread.
class quorum_rounds : public std::enable_shared_from_this<quorum_rounds> {
public:
    quorum_rounds(const std::vector<quorum_node>& nodes, clock& time, entropy& chance,
                  const quorum_options& options);

    /// As lease_store::submit().
    void submit(std::vector<lease_request> requests, time_point give_up,
                lease_store::reply_handler on_reply);

    /// Set once, before the first request.
    void on_push(lease_store::push_handler handler) { tell_push_ = std::move(handler); }
    void hear(std::size_t node, const lease_push& push);

    [[nodiscard]] std::size_t leavings() const noexcept { return leavings_->size(); }

    /// With a background by hand, as quorum_lease_store::step().
    time_point step() { return calls_->step(); }

    /// As lease_store::settle().
    void settle(time_point until);

    /// No node is used after this has returned.
    void close();

private:
    struct round {
        round(quorum_plan plan, quorum_owners::known known, time_point until,
              std::function<void(result<lease_reply>)> tell)
            : machine(std::move(plan)),
              ended(std::move(known.ended)),
              look(known.look),
              give_up(until),
              done(std::move(tell)) {}
        std::mutex mutex;
        quorum_machine machine;
        const quorum_owners::end_marks ended;
        const std::uint64_t look;
        const time_point give_up;
        const std::function<void(result<lease_reply>)> done;

        [[nodiscard]] bool over(std::size_t node) const {
            return ended != nullptr && (*ended)[node];
        }
        /// Ends its owner, instead of asking for it.
        [[nodiscard]] bool ends() const {
            return !std::holds_alternative<ask::acquire>(machine.request()) &&
                   !std::holds_alternative<ask::renew>(machine.request());
        }
    };
    using round_ptr = std::shared_ptr<round>;

    [[nodiscard]] std::optional<error> unfit(const lease_request& request) const;
    [[nodiscard]] round_ptr round_for(lease_request request, time_point now, time_point give_up,
                                      std::function<void(result<lease_reply>)> tell);
    void answered(const round_ptr& one, std::size_t node, result<lease_reply> reply);
    void act(const round_ptr& one, quorum_machine::step step, time_point now);
    void note_undone(round& one, quorum_machine::step& step, time_point now);
    void send(const round_ptr& one, quorum_machine::send what, time_point now);
    void heard(const round& one, std::size_t node, const result<lease_reply>& reply,
               fencing_token undone);
    void leave(const round& one, std::size_t node, time_point now);
    [[nodiscard]] result<lease_reply> worded(round& one, result<lease_reply> outcome);
    void tell_waiter(const owner_token& owner);

    std::vector<std::string> labels_;
    clock& time_;
    const quorum_options options_;
    const std::shared_ptr<quorum_nodes> door_;
    const std::shared_ptr<delayed_calls> calls_;
    const std::shared_ptr<quorum_cleanup> leavings_;
    quorum_owners owners_;
    lease_store::push_handler tell_push_;
    std::atomic<duration> longest_seen_ = duration::zero();
    /// The clock of some node was set, by so much; nobody was told yet.
    std::atomic<duration> stepped_ = duration::zero();
};

}  // namespace holdfast::detail

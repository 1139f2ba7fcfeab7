// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_bounds.hpp"
#include "core/upkeep.hpp"
#include "runtime/adaptive_yield.hpp"

#include <holdfast/engine/lease_store.hpp>
#include <holdfast/entropy.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

/// Leases on a quorum of stores that know nothing of each other: what a majority says holds.
///
/// Every request goes to all nodes at once, and is answered when the majority's word is clear
/// (quorum_machine.hpp): a node that is silent costs nothing as long as the others are enough. So
/// leases outlive the loss of a minority of nodes, data and all. The nodes are used as they are;
/// they must honour `ask::renew::floor` and `ask::release::only`.
///
/// Limits. Nobody is first come, first served: each node has a line of its own (quorum_owners.hpp).
/// Shared leases and permits are refused, with the reason. A node that was restarted and has
/// forgotten leases must not be asked until the longest of them is over; whoever makes the nodes
/// sees to that.
namespace holdfast {

struct quorum_node {
    std::string label;  ///< For people: "db1:6379". No secrets.
    std::shared_ptr<lease_store> store;
};

struct quorum_options {
    /// How long one node may take to answer. Far above a round trip, far below a ttl.
    duration node_timeout = std::chrono::milliseconds(500);
    /// Off: no lease has a fence, and none is written back.
    enum class fence : std::uint8_t { on, off } fences = fence::on;
    /// No lease may have a longer ttl: as long as a node that forgot everything stands aside.
    duration longest_ttl = detail::longest_ttl;
    /// By hand in a simulation, which calls step().
    detail::upkeep background = detail::upkeep::threads;
};

namespace detail {
class quorum_rounds;
}

class quorum_lease_store final : public lease_store {
public:
    /// Requires: at least one node; `time` is the nodes' clock; it and `chance` outlive the store.
    quorum_lease_store(std::vector<quorum_node> nodes, clock& time, entropy& chance,
                       const quorum_options& options = {});
    ~quorum_lease_store() override;

    [[nodiscard]] capabilities can() const noexcept override;
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override;
    void settle(time_point until) override;
    void introduce(const client_id& id, const client_label& who) override;
    /// The middle of the nodes' times: a minority of wrong clocks cannot move it far.
    [[nodiscard]] result<wall_time> time_of_day(time_point give_up) override;
    /// What a majority lists. What fewer have is the rest of a lost vote, not a lease.
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;
    [[nodiscard]] result<std::optional<lease_info>> inspect(const lock_name& name,
                                                            time_point give_up) override;
    [[nodiscard]] result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                               time_point give_up) override;
    [[nodiscard]] result<lease_reply> adopt(const lease_adoption& asked,
                                            time_point give_up) override;
    [[nodiscard]] result<std::uint32_t> evict(const lock_name& name, std::string_view reason,
                                              time_point give_up) override;

    /// How many endings of owners at silent nodes go on in the background.
    [[nodiscard]] std::size_t leavings() const noexcept;

    /// With a background by hand: does what is due there. Answers when the next thing is.
    time_point step();

private:
    template <class Answer, class Ask>
    [[nodiscard]] result<std::vector<Answer>> ask_all(std::string_view what, time_point give_up,
                                                      const Ask& ask);

    const std::vector<quorum_node> nodes_;
    clock& time_;
    detail::adaptive_yield waits_;
    const quorum_options options_;
    const std::shared_ptr<detail::quorum_rounds> rounds_;
};

}  // namespace holdfast

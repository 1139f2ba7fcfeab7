// SPDX-License-Identifier: Apache-2.0
#include "checkers/checker_set.hpp"

#include "checkers/belief_checker.hpp"
#include "checkers/call_checker.hpp"
#include "checkers/clock_checker.hpp"
#include "checkers/event_log.hpp"
#include "checkers/fence_checker.hpp"
#include "checkers/fork_checker.hpp"
#include "checkers/history_checker.hpp"
#include "checkers/lease_checker.hpp"
#include "checkers/leftover_checker.hpp"
#include "checkers/liveness_checker.hpp"
#include "checkers/loss_checker.hpp"
#include "checkers/order_checker.hpp"
#include "checkers/renewal_checker.hpp"
#include "checkers/resource_checker.hpp"
#include "checkers/vote_checker.hpp"

#include <algorithm>

namespace holdfast::sim {

namespace {

// Those by which a request may arrive after its sender has gone, or a holder be forgotten.
fault_set late_messages() {
    fault_set late;
    for (const fault kind :
         {fault::delay, fault::loss, fault::duplication, fault::reset, fault::cut, fault::clog,
          fault::pause, fault::client_crash, fault::node_crash, fault::node_loss, fault::clock_back,
          fault::clock_forward, fault::failover, fault::out_of_memory, fault::isolation}) {
        late.set(static_cast<std::size_t>(kind));
    }
    return late;
}

// Those that cost nobody a lease without somebody being told of it.
bool leases_last(const plan& p) {
    fault_set mild;
    for (const fault kind :
         {fault::loss, fault::duplication, fault::reset, fault::cut, fault::pause,
          fault::client_crash, fault::fork, fault::drift, fault::script_flush}) {
        mild.set(static_cast<std::size_t>(kind));
    }
    return (p.faults & ~mild).none() && p.replicas == 0;
}

}  // namespace

checker_set::checker_set(const plan& p) {
    judges_.push_back(std::make_unique<call_checker>());
    judges_.push_back(std::make_unique<liveness_checker>());
    judges_.push_back(std::make_unique<renewal_checker>());
    judges_.push_back(std::make_unique<leftover_checker>());
    judges_.push_back(std::make_unique<fork_checker>());
    if (p.promised.beliefs) judges_.push_back(std::make_unique<belief_checker>());
    if (p.servers == shape::single) judges_.push_back(std::make_unique<clock_checker>());
    const fault_set only_calm = p.faults & late_messages();
    if (p.promised.exclusion && p.promised.fences && p.held == custom::mutex) {
        judges_.push_back(
            std::make_unique<history_checker>(only_calm.none() && p.servers != shape::quorum));
    }
    if (p.promised.fences) {
        judges_.push_back(std::make_unique<fence_checker>(p.promised.exclusion));
        judges_.push_back(std::make_unique<resource_checker>());
    }
    if (p.servers == shape::quorum) judges_.push_back(std::make_unique<vote_checker>(p.nodes));
    if (p.promised.kept) judges_.push_back(std::make_unique<lease_checker>());
    if (leases_last(p)) judges_.push_back(std::make_unique<loss_checker>());
    if (p.promised.order) judges_.push_back(std::make_unique<order_checker>());
}

void checker_set::call_scribe() {
    judges_.push_back(std::make_unique<event_log>());
}

std::vector<violation> checker_set::found() const {
    std::vector<violation> all;
    for (const auto& one : judges_) {
        all.insert(all.end(), one->found().begin(), one->found().end());
    }
    std::ranges::stable_sort(all, {}, &violation::at);
    return all;
}

}  // namespace holdfast::sim

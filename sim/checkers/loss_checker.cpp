// SPDX-License-Identifier: Apache-2.0
#include "checkers/loss_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {
namespace {

constexpr moment a_line_is_back_after = std::chrono::seconds(1);

}  // namespace

void loss_checker::see(const seen::call_began& e) {
    const auto last = disturbed_at_.find(e.process);
    const bool shaken = last != disturbed_at_.end() && e.at - last->second < a_line_is_back_after;
    calls_.emplace(e.call, call{e.process, shaken});
}

void loss_checker::see(const seen::call_ended& e) {
    calls_.erase(e.call);
}

void loss_checker::see(const seen::holding_began& e) {
    const auto from = calls_.find(e.call);
    const bool disturbed = from != calls_.end() && from->second.disturbed;
    open_.emplace(e.holding, holding{e.process, e.name, e.fence.value, disturbed});
}

void loss_checker::see(const seen::holding_ended& e) {
    const auto found = open_.find(e.holding);
    if (found == open_.end()) return;
    const holding& one = found->second;
    if (e.lost && e.why != loss_reason::max_hold && !one.disturbed) {
        complain(e.at, fmt::format("'{}': process {} has lost fence {} ({}), and nothing had "
                                   "happened to it",
                                   one.name, one.process, one.fence, to_string(e.why)));
    }
    open_.erase(found);
}

void loss_checker::see(const seen::process_crashed& e) {
    std::erase_if(open_, [&](const auto& one) { return one.second.process == e.process; });
    std::erase_if(calls_, [&](const auto& one) { return one.second.process == e.process; });
}

void loss_checker::see(const seen::process_disturbed& e) {
    disturbed_at_[e.process] = e.at;
    for (auto& [number, one] : open_) one.disturbed = one.disturbed || one.process == e.process;
    for (auto& [number, one] : calls_) one.disturbed = one.disturbed || one.process == e.process;
}

void loss_checker::see(const seen::servers_disturbed& /*e*/) {
    for (auto& [number, one] : open_) one.disturbed = true;
    for (auto& [number, one] : calls_) one.disturbed = true;
}

}  // namespace holdfast::sim

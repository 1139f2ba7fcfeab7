// SPDX-License-Identifier: Apache-2.0
#include "checkers/order_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Whoever no fault has met hears of its grant within this time, or looks.
constexpr moment message_time = 1500ms;

}  // namespace

void order_checker::see(const seen::request_sent& e) {
    if (const auto* asked = std::get_if<ask::acquire>(&e.request)) {
        askers_.try_emplace(asked->owner,
                            asker{e.process, asked->name.value(), asked->mode, asked->barge, e.at});
    } else if (const auto* left = std::get_if<ask::leave>(&e.request)) {
        askers_.erase(left->owner);
    } else if (const auto* gone = std::get_if<ask::release>(&e.request)) {
        askers_.erase(gone->owner);
    }
}

void order_checker::see(const seen::request_answered& e) {
    const auto* asked = std::get_if<ask::acquire>(&e.request);
    if (asked == nullptr || !e.reply) return;
    const auto found = askers_.find(asked->owner);
    if (found == askers_.end()) return;
    if (std::holds_alternative<answer::granted>(*e.reply)) {
        granted(found->first, std::get<answer::granted>(*e.reply).fence, e.at);
    } else if (asked->otherwise == ask::when_busy::refuse) {
        askers_.erase(found);
    } else if (found->second.in_line == moment::max()) {
        found->second.in_line = e.at;
    }
}

void order_checker::see(const seen::push_heard& e) {
    if (e.given.ttl > duration::zero()) granted(e.given.owner, e.given.fence, e.at);
}

void order_checker::granted(const owner_token& owner, fencing_token fence, moment at) {
    const auto found = askers_.find(owner);
    if (found == askers_.end() || found->second.granted) return;
    asker& lucky = found->second;
    lucky.granted = true;
    if (!lucky.disturbed && lucky.overtaken_by != 0 && lucky.overtaken_by < fence.value) {
        complain(at, fmt::format("'{}': process {} has stood in line since {} us and was granted "
                                 "fence {}, after one that came later was granted {}",
                                 lucky.name, lucky.process, lucky.in_line.count() / 1000,
                                 fence.value, lucky.overtaken_by));
    }
    if (lucky.barges) return;
    for (auto& [other, first] : askers_) {
        if (first.name != lucky.name || first.granted || first.barges) continue;
        if (first.disturbed) continue;
        if (at - std::min(first.overtaken, at) > message_time) {
            complain(at, fmt::format("'{}': process {} has stood in line since {} us, and others "
                                     "that came later were granted at {} us",
                                     first.name, first.process, first.in_line.count() / 1000,
                                     first.overtaken.count() / 1000));
            first.disturbed = true;  // once is enough
        }
        if (first.in_line >= lucky.asked) continue;
        const std::uint64_t lowest = first.overtaken_by;
        first.overtaken_by = lowest == 0 ? fence.value : std::min(lowest, fence.value);
        first.overtaken = std::min(first.overtaken, at);
    }
}

void order_checker::see(const seen::process_crashed& e) {
    std::erase_if(askers_, [&](const auto& one) { return one.second.process == e.process; });
}

void order_checker::see(const seen::process_disturbed& e) {
    for (auto& [owner, one] : askers_) one.disturbed = one.disturbed || one.process == e.process;
}

void order_checker::see(const seen::servers_disturbed& /*e*/) {
    for (auto& [owner, one] : askers_) one.disturbed = true;
}

}  // namespace holdfast::sim

// SPDX-License-Identifier: Apache-2.0
#include "checkers/history_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {
namespace {

constexpr std::size_t most_configurations = 20'000;

using op_kind = lock_operation::kind;

std::string describe(const lock_operation& op) {
    const std::string_view what = op.what == op_kind::acquire ? "acquire"
                                  : op.what == op_kind::end   ? "end"
                                                              : "refused";
    return fmt::format("{} by {} (fence {}) called at {} us", what, op.holder, op.fence,
                       op.called.count() / 1000);
}

}  // namespace

void history_checker::see(const seen::call_began& e) {
    bool others = false;
    for (auto& [number, other] : calls_) {
        if (other.began.name != e.name) continue;
        if (e.waits) other.others_waited = true;
        others = others || other.began.waits;
    }
    calls_.emplace(e.call, call{e, others});
}

void history_checker::see(const seen::holding_began& e) {
    const auto found = calls_.find(e.call);
    if (found == calls_.end() || e.mode.type != lease_mode::kind::exclusive) return;
    by_name_[e.name].push_back({.what = op_kind::acquire,
                                .holder = e.holding,
                                .fence = e.fence.value,
                                .called = found->second.began.at,
                                .returned = e.at});
    holdings_.emplace(e.holding, holding{e.name, e.process, e.at});
}

// It was not granted, but it may have held the name for a while without knowing it.
void history_checker::may_have_held(const call& one) {
    auto& all = by_name_[one.began.name];
    all.push_back({.what = op_kind::acquire,
                   .holder = one.began.call,
                   .called = one.began.at,
                   .must_happen = false});
    all.push_back({.what = op_kind::end,
                   .holder = one.began.call,
                   .called = one.began.at,
                   .must_happen = false});
}

void history_checker::see(const seen::call_ended& e) {
    const auto found = calls_.find(e.call);
    if (found == calls_.end()) return;
    const call& one = found->second;
    if (e.problem == errc::busy && !one.began.waits) {
        if (exact_ && !one.others_waited) {
            by_name_[one.began.name].push_back({.what = op_kind::refused,
                                                .holder = e.call,
                                                .called = one.began.at,
                                                .returned = e.at});
        }
    } else if (e.problem) {
        may_have_held(one);
    }
    calls_.erase(found);
}

std::size_t history_checker::add_end(std::uint64_t number, const holding& one, moment from) {
    auto& all = by_name_[one.name];
    all.push_back({.what = op_kind::end, .holder = number, .called = from, .must_happen = false});
    return all.size() - 1;
}

// One that was lost may have ended at any time: what its holder believed, other judges know.
void history_checker::see(const seen::holding_ended& e) {
    const auto found = holdings_.find(e.holding);
    if (found == holdings_.end()) return;
    holding& one = found->second;
    one.end = add_end(e.holding, one, e.lost ? one.began : e.at);
}

void history_checker::see(const seen::release_ended& e) {
    const auto found = holdings_.find(e.holding);
    if (found == holdings_.end() || found->second.end == no_end) return;
    lock_operation& end = by_name_[found->second.name][found->second.end];
    if (!e.problem) {
        end.returned = e.at;
        end.must_happen = true;
    } else if (e.problem == errc::lease_lost) {
        end.called = found->second.began;
    }
    holdings_.erase(found);
}

void history_checker::see(const seen::process_crashed& e) {
    for (const auto& [number, one] : calls_) {
        if (one.began.process == e.process) may_have_held(one);
    }
    std::erase_if(calls_, [&](const auto& one) { return one.second.began.process == e.process; });
    for (auto& [number, one] : holdings_) {
        if (one.process == e.process && one.end == no_end) {
            one.end = add_end(number, one, one.began);
        }
    }
}

void history_checker::see(const seen::world_ended& e) {
    for (const auto& [name, all] : by_name_) {
        const auto found = linearize(all, most_configurations);
        if (found.possible) continue;
        std::string text =
            fmt::format("'{}': {} operations in no possible order; stuck at", name, all.size());
        for (const std::size_t i : found.stuck_at) text += fmt::format(" [{}]", describe(all[i]));
        constexpr std::size_t longest = 600;
        if (text.size() > longest) text.resize(longest);
        complain(e.at, std::move(text));
    }
}

}  // namespace holdfast::sim

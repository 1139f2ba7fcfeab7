// SPDX-License-Identifier: Apache-2.0
#include "checkers/belief_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {
namespace {

bool together(const lease_mode& a, const lease_mode& b) {
    return a.type == b.type && a.type != lease_mode::kind::exclusive;
}

}  // namespace

void belief_checker::ask_all(moment at, const std::string& name, std::vector<belief>& all) {
    const belief* first = nullptr;
    std::uint32_t taken = 0;
    for (belief& one : all) {
        if (!one.who->believes()) {
            one.over = true;
            continue;
        }
        if (one.over) {
            complain(at,
                     fmt::format("'{}': process {} believed in fence {} no more, and does again",
                                 name, one.process, one.fence.value));
        }
        if (one.doubtful) continue;
        taken += one.mode.permits;
        if (first == nullptr) {
            first = &one;
        } else if (!together(first->mode, one.mode)) {
            complain(at, fmt::format("'{}': process {} believes in fence {}, and process {} in "
                                     "fence {}",
                                     name, first->process, first->fence.value, one.process,
                                     one.fence.value));
        }
    }
    if (first != nullptr && first->mode.type == lease_mode::kind::permit &&
        taken > first->mode.limit) {
        complain(at, fmt::format("'{}': {} permits of {} are out", name, taken, first->mode.limit));
    }
}

void belief_checker::see(const seen::holding_began& e) {
    auto& all = by_name_[e.name];
    all.push_back({e.holding, e.process, e.mode, e.fence, e.who, false, begins_doubtful(e)});
    ask_all(e.at, e.name, all);
}

// A lease that is passed on inside a program is the one that its holder before had: no server was
// asked for it, whenever the call began. What a server granted is never taken for passed on.
bool belief_checker::begins_doubtful(const seen::holding_began& e) {
    const bool from_server = granted_.erase({e.process, e.name, e.fence.value}) > 0;
    const auto before = ended_.extract({e.process, e.name, e.fence.value - 1});
    if (!from_server && before) return before.mapped();
    const auto asked = calls_.find(e.call);
    const bool late = asked == calls_.end() || asked->second <= last_step_;
    return late && last_step_ >= moment(0);
}

void belief_checker::see(const seen::call_began& e) {
    calls_[e.call] = e.at;
}

void belief_checker::see(const seen::call_ended& e) {
    calls_.erase(e.call);
}

void belief_checker::see(const seen::clock_set& e) {
    if (e.by < duration::zero()) return;
    last_step_ = e.at;
    for (auto& [name, all] : by_name_) {
        for (belief& one : all) one.doubtful = true;
    }
    for (auto& [lease, doubtful] : ended_) doubtful = true;
}

void belief_checker::see(const seen::request_sent& e) {
    const auto* kept = std::get_if<ask::renew>(&e.request);
    if (kept != nullptr) renewals_[{e.process, kept->fence.value}] = e.at;
    if (const auto* wanted = std::get_if<ask::acquire>(&e.request)) {
        names_.insert_or_assign(wanted->owner, wanted->name.value());
    }
}

void belief_checker::see(const seen::push_heard& e) {
    const auto name = names_.find(e.given.owner);
    if (name != names_.end()) granted_.emplace(e.process, name->second, e.given.fence.value);
}

void belief_checker::see(const seen::request_answered& e) {
    const auto* wanted = std::get_if<ask::acquire>(&e.request);
    const auto* given = e.reply ? std::get_if<answer::granted>(&*e.reply) : nullptr;
    if (wanted != nullptr && given != nullptr) {
        granted_.emplace(e.process, wanted->name.value(), given->fence.value);
    }
    const auto* kept = std::get_if<ask::renew>(&e.request);
    if (kept != nullptr && e.reply && std::holds_alternative<answer::renewed>(*e.reply) &&
        renewals_[{e.process, kept->fence.value}] > last_step_) {
        for (belief& one : by_name_[kept->name.value()]) {
            if (one.process == e.process && one.fence == kept->fence) one.doubtful = false;
        }
    }
    for (auto& [name, all] : by_name_) ask_all(e.at, name, all);
}

void belief_checker::see(const seen::holding_ended& e) {
    for (auto& [name, all] : by_name_) {
        std::erase_if(all, [&](const belief& one) {
            if (one.holding != e.holding) return false;
            ended_[{one.process, name, one.fence.value}] = one.doubtful;
            return true;
        });
    }
}

void belief_checker::see(const seen::process_crashed& e) {
    for (auto& [name, all] : by_name_) {
        std::erase_if(all, [&](const belief& one) { return one.process == e.process; });
    }
}

}  // namespace holdfast::sim

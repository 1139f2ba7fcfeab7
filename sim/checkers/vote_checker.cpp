// SPDX-License-Identifier: Apache-2.0
#include "checkers/vote_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// The largest fence that it ends.
std::uint64_t reach(const ask::release& undo) {
    return undo.only.value == 0 ? UINT64_MAX : undo.only.value;
}

}  // namespace

// Who gives it back does not count on it any more, and asks no more.
void vote_checker::see(const seen::request_sent& e) {
    if (const auto* gone = std::get_if<ask::release>(&e.request)) {
        places_.erase({gone->owner, gone->name});
    } else if (const auto* left = std::get_if<ask::leave>(&e.request)) {
        places_.erase({left->owner, left->name});
    }
    if (const auto* asked = std::get_if<ask::acquire>(&e.request)) {
        places_.try_emplace({asked->owner, asked->name});
    } else if (const auto* kept = std::get_if<ask::renew>(&e.request)) {
        const auto found = places_.find({kept->owner, kept->name});
        if (found == places_.end()) return;
        found->second.renewal = ++renewals_;
        found->second.renewal_sent = e.at;
        found->second.renewed = 0;
        found->second.renewal_at.clear();
    }
}

void vote_checker::see(const seen::request_answered& e) {
    if (const auto* kept = std::get_if<ask::renew>(&e.request)) {
        const auto found = places_.find({kept->owner, kept->name});
        if (found != places_.end()) found->second.renewal = 0;
        return;
    }
    const auto* asked = std::get_if<ask::acquire>(&e.request);
    if (asked == nullptr || !e.reply || !std::holds_alternative<answer::granted>(*e.reply)) return;
    const auto found = places_.find({asked->owner, asked->name});
    if (found == places_.end()) return;
    found->second.granted = true;
    const auto votes = std::ranges::count_if(
        found->second.votes, [](const auto& one) { return one.second.may_count(); });
    if (static_cast<std::size_t>(votes) >= majority_) return;
    complain(e.at, fmt::format("'{}': process {} was granted it, with {} votes that are not undone",
                               asked->name.value(), e.process, votes));
}

void vote_checker::see(const seen::node_asked& e) {
    if (const auto* kept = std::get_if<ask::renew>(&e.request)) {
        asked_.erase(&e.request);
        const asker who(kept->owner, kept->name);
        const auto found = places_.find(who);
        if (found == places_.end() || found->second.renewal_sent != e.at) return;
        if (!found->second.renewal_at.insert(e.node).second) return;
        const vote& here = found->second.votes[e.node];
        if (!here.counts() || here.undoing != 0) return;
        asked_.insert_or_assign(&e.request, renewal{who, found->second.renewal});
        return;
    }
    const auto* undo = std::get_if<ask::release>(&e.request);
    if (undo == nullptr) return;
    const auto found = places_.find({undo->owner, undo->name});
    if (found == places_.end()) return;
    vote& here = found->second.votes[e.node];
    if (found->second.granted && here.counts() && here.given <= reach(*undo)) {
        complain(e.at, fmt::format("'{}': process {} was granted it, and tells server {} to undo "
                                   "its vote with fence {}",
                                   undo->name.value(), e.process, e.node, here.given));
    }
    here.undoing = std::max(here.undoing, reach(*undo));
    here.undone = std::max(here.undone, reach(*undo));
    if (here.given <= reach(*undo)) here.given = 0;
}

// What comes late does not count, by the clock of the one who asked.
void vote_checker::renewal_answered(const seen::node_answered& e, const ask::renew& kept) {
    const auto asked = asked_.find(&e.request);
    if (asked == asked_.end()) return;
    const renewal one = asked->second;
    asked_.erase(asked);
    const auto found = places_.find(one.who);
    if (found == places_.end() || found->second.renewal != one.number) return;
    place& here = found->second;
    if (here.renewed >= majority_) {
        complain(e.at, fmt::format("'{}': {} servers have renewed it for process {}, which has not "
                                   "heard of that",
                                   kept.name.value(), here.renewed, e.process));
    }
    const bool in_time = e.at - here.renewal_sent < kept.ttl * 9 / 10 - 3ms;
    if (e.reply && std::holds_alternative<answer::renewed>(*e.reply) && in_time) ++here.renewed;
}

void vote_checker::see(const seen::node_answered& e) {
    if (const auto* kept = std::get_if<ask::renew>(&e.request)) return renewal_answered(e, *kept);
    if (!e.reply) return;
    if (const auto* undo = std::get_if<ask::release>(&e.request)) {
        const auto found = places_.find({undo->owner, undo->name});
        if (found == places_.end()) return;
        vote& here = found->second.votes[e.node];
        if (here.undoing <= reach(*undo)) here.undoing = 0;
        return;
    }
    const auto* asked = std::get_if<ask::acquire>(&e.request);
    const auto* given = std::get_if<answer::granted>(&*e.reply);
    if (asked == nullptr || given == nullptr) return;
    const auto found = places_.find({asked->owner, asked->name});
    if (found == places_.end()) return;
    // An earlier answer may come last, and speaks of what has been undone since.
    std::uint64_t& latest = found->second.votes[e.node].given;
    latest = std::max(latest, given->fence.value);
}

}  // namespace holdfast::sim

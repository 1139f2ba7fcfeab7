// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_rounds.hpp"

#include "core/overloaded.hpp"
#include "core/validity.hpp"
#include "lease/quorum/quorum_report.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

std::vector<std::shared_ptr<lease_store>> stores_of(const std::vector<quorum_node>& nodes) {
    std::vector<std::shared_ptr<lease_store>> stores;
    for (const quorum_node& node : nodes) stores.push_back(node.store);
    return stores;
}

quorum_owners::asker asker_of(const lease_request& request) {
    return std::visit(
        [](const auto& asked) { return quorum_owners::asker{asked.owner, asked.name}; }, request);
}

ask::leave leave_of(const lease_request& request) {
    return std::visit(
        [](const auto& asked) { return ask::leave{asked.name, asked.owner, asked.mode}; }, request);
}

duration step_of(const result<lease_reply>& reply) {
    const auto* good = reply ? std::get_if<answer::renewed>(&*reply) : nullptr;
    const auto* gone = reply ? std::get_if<answer::lost>(&*reply) : nullptr;
    if (good != nullptr) return good->clock.by;
    return gone != nullptr ? gone->clock.by : duration::zero();
}

// What failed so was never sent: whoever asked for it is not known there by it.
bool is_not_sent(errc code) {
    return code == errc::unavailable || code == errc::timed_out || code == errc::denied;
}

bool waits(const lease_request& request) {
    const auto* asked = std::get_if<ask::acquire>(&request);
    return asked != nullptr && asked->otherwise == ask::when_busy::join_queue;
}

}  // namespace

quorum_rounds::quorum_rounds(const std::vector<quorum_node>& nodes, clock& time, entropy& chance,
                             const quorum_options& options)
    : time_(time),
      options_(options),
      door_(std::make_shared<quorum_nodes>(stores_of(nodes))),
      calls_(std::make_shared<delayed_calls>(time, options.background)),
      leavings_(std::make_shared<quorum_cleanup>(door_, calls_, time, options.node_timeout)),
      owners_(nodes.size(), chance) {
    for (const quorum_node& node : nodes) labels_.push_back(node.label);
}

void quorum_rounds::settle(time_point until) {
    if (options_.background != upkeep::threads) return;
    leavings_->send_all();
    door_->await_answers(time_, until);
}

void quorum_rounds::close() {
    calls_->close();
    door_->close();
}

// Refused, never carried out as something weaker.
std::optional<error> quorum_rounds::unfit(const lease_request& request) const {
    const lease_mode mode = std::visit([](const auto& asked) { return asked.mode; }, request);
    if (mode.type == lease_mode::kind::permit) {
        return error{errc::unsupported,
                     fmt::format("permits on a quorum are unsound: with {} of them on each of {} "
                                 "servers, and {} servers for each holder, {} could hold one",
                                 mode.limit, labels_.size(), majority_of(labels_.size()),
                                 mode.limit * labels_.size() / majority_of(labels_.size()))};
    }
    if (mode.type == lease_mode::kind::shared) {
        return error{errc::unsupported,
                     "shared leases on a quorum are not offered: each server has a line of its "
                     "own, so readers that keep coming would starve a writer"};
    }
    const duration ttl = ttl_of(request);
    if (ttl <= options_.longest_ttl) return std::nullopt;
    using std::chrono::milliseconds;
    return error{errc::invalid_argument,
                 fmt::format("a ttl of {} is longer than the quarantine of {}, which must outlast "
                             "every lease: shorten the ttl, or raise quarantine= in the URL",
                             std::chrono::ceil<milliseconds>(ttl),
                             std::chrono::ceil<milliseconds>(options_.longest_ttl))};
}

quorum_rounds::round_ptr quorum_rounds::round_for(lease_request request, time_point now,
                                                  time_point give_up,
                                                  std::function<void(result<lease_reply>)> tell) {
    quorum_plan plan{.request = std::move(request),
                     .nodes = labels_.size(),
                     .fencing = options_.fences == quorum_options::fence::on};
    const quorum_owners::asker who = asker_of(plan.request);
    quorum_owners::known known;
    if (auto* asked = std::get_if<ask::acquire>(&plan.request)) {
        known = owners_.look(who, waits(plan.request), now);
        // Whatever became of the first request: a node may know it, or learn of it late.
        asked->again = asked->again || known.look > 1;
        plan.leaving = leavings_->of(who.owner, who.name);
        duration seen = longest_seen_.load(std::memory_order_relaxed);
        while (asked->ttl > seen && !longest_seen_.compare_exchange_weak(seen, asked->ttl)) {
        }
    } else if (std::holds_alternative<ask::renew>(plan.request)) {
        known = owners_.renew(who, now);
    } else {
        known = owners_.forget(who);
        plan.never_knew = known.never_knew;
    }
    plan.undone = known.undone;
    return std::make_shared<round>(std::move(plan), std::move(known), give_up, std::move(tell));
}

void quorum_rounds::submit(std::vector<lease_request> requests, time_point give_up,
                           lease_store::reply_handler on_reply) {
    struct post {
        std::vector<lease_request> requests;
        std::vector<round_ptr> rounds;
    };
    const auto tell = std::make_shared<const lease_store::reply_handler>(std::move(on_reply));
    const time_point now = time_.now();
    std::vector<post> posts(labels_.size());
    std::vector<std::pair<round_ptr, quorum_machine::step>> begun;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (auto why = unfit(requests[i])) {
            (*tell)(i, std::unexpected(std::move(*why)));
            continue;
        }
        auto one =
            round_for(std::move(requests[i]), now, give_up,
                      [tell, i](result<lease_reply> outcome) { (*tell)(i, std::move(outcome)); });
        auto step = one->machine.start(now);
        for (auto& out : std::exchange(step.sends, {})) {
            posts[out.node].requests.push_back(std::move(out.request));
            posts[out.node].rounds.push_back(one);
        }
        if (step.outcome) begun.emplace_back(std::move(one), std::move(step));
    }
    for (auto& [one, step] : begun) act(one, std::move(step), now);
    // The nodes' last words must come a moment before the caller's time is up.
    const duration moment = std::min<duration>((give_up - now) / 16, std::chrono::milliseconds(20));
    const time_point end = std::min(give_up - moment, later(now, options_.node_timeout));
    for (std::size_t node = 0; node < posts.size(); ++node) {
        if (posts[node].requests.empty()) continue;
        door_->submit(node, std::move(posts[node].requests), end,
                      [self = shared_from_this(), node, rounds = std::move(posts[node].rounds)](
                          std::size_t index, result<lease_reply> reply) {
                          self->answered(rounds[index], node, std::move(reply));
                      });
    }
}

void quorum_rounds::answered(const round_ptr& one, std::size_t node, result<lease_reply> reply) {
    const time_point now = time_.now();
    quorum_machine::step step;
    fencing_token vote;
    if (const duration by = step_of(reply); by != duration::zero()) stepped_ = by;
    bool never_sent = !reply && is_not_sent(reply.error().code);
    {
        const std::scoped_lock guard(one->mutex);
        if (one->ends() && one->ended != nullptr) (*one->ended)[node] = true;
        if (!one->ends() && one->over(node)) one->machine.end();
        never_sent = never_sent && !one->machine.words()[node].raising;
        step = one->machine.on_answer(node, std::move(reply), now);
        const node_word& word = one->machine.words()[node];
        if (word.said == node_word::kind::yes) vote = word.fence;
    }
    const quorum_owners::asker who = asker_of(one->machine.request());
    if (never_sent && std::holds_alternative<ask::acquire>(one->machine.request())) {
        owners_.never_sent(who, node);
    }
    owners_.voted(who, node, vote);
    act(one, std::move(step), now);
}

// The outcome is told last: whoever hears it may ask again, and then the nodes must have been told
// before what is undone.
void quorum_rounds::act(const round_ptr& one, quorum_machine::step step, time_point now) {
    note_undone(*one, step, now);
    for (auto& what : step.sends) send(one, std::move(what), now);
    for (const std::size_t node : step.leave_at) leave(*one, node, now);
    if (step.outcome) one->done(worded(*one, std::move(*step.outcome)));
}

// What is undone is written down before it is, or is left to a later request of the owner.
void quorum_rounds::note_undone(round& one, quorum_machine::step& step, time_point now) {
    const auto undoes = [](const quorum_machine::send& what) {
        return !what.awaited && std::holds_alternative<ask::release>(what.request);
    };
    if (std::ranges::none_of(step.sends, undoes)) return;
    std::vector<fencing_token> undone;
    {
        const std::scoped_lock guard(one.mutex);
        undone = one.machine.undone();
    }
    // Only what this step undoes: of the other nodes the machine knows what was when it began.
    std::vector<bool> here(undone.size());
    for (const auto& what : step.sends) {
        if (undoes(what)) here[what.node] = true;
    }
    for (std::size_t node = 0; node < undone.size(); ++node) {
        if (!here[node]) undone[node] = {};
    }
    const quorum_owners::asker who = asker_of(one.machine.request());
    if (!owners_.undoing(who, undone, one.look, now)) std::erase_if(step.sends, undoes);
}

void quorum_rounds::send(const round_ptr& one, quorum_machine::send what, time_point now) {
    time_point end = later(now, options_.node_timeout);
    if (what.awaited) end = std::min(end, one->give_up);
    std::vector<lease_request> single;
    if (!what.awaited) {
        const auto* ended = std::get_if<ask::release>(&what.request);
        const fencing_token undone = ended != nullptr ? ended->only : fencing_token{};
        single.push_back(std::move(what.request));
        door_->submit(what.node, std::move(single), end,
                      [self = shared_from_this(), one, node = what.node, insists = what.insists,
                       undone](std::size_t, const result<lease_reply>& reply) {
                          self->heard(*one, node, reply, undone);
                          if (!reply && insists) self->leave(*one, node, self->time_.now());
                      });
        return;
    }
    single.push_back(std::move(what.request));
    door_->submit(
        what.node, std::move(single), end,
        [self = shared_from_this(), one, node = what.node](std::size_t, result<lease_reply> reply) {
            self->answered(one, node, std::move(reply));
        });
}

// The answer of what nobody waits for. Only a lease that came back to a node can be too late.
void quorum_rounds::heard(const round& one, std::size_t node, const result<lease_reply>& reply,
                          fencing_token undone) {
    const auto* given = reply ? std::get_if<answer::granted>(&*reply) : nullptr;
    const ask::leave owner = leave_of(one.machine.request());
    const quorum_owners::asker who{owner.owner, owner.name};
    if (reply && undone.value != 0) owners_.undone(who, node, undone);
    if (given != nullptr) owners_.voted(who, node, given->fence);
    if (given == nullptr || !one.over(node)) return;
    door_->submit(node, {ask::release{owner.name, owner.owner, owner.mode, given->fence}},
                  later(time_.now(), options_.node_timeout), [](std::size_t, const auto&) {});
}

void quorum_rounds::leave(const round& one, std::size_t node, time_point now) {
    const lease_request& request = one.machine.request();
    const auto* asked = std::get_if<ask::acquire>(&request);
    const duration ttl = asked != nullptr ? asked->ttl : longest_seen_.load();
    leavings_->add(node, leave_of(request), later(now, longest_trace(ttl) + options_.node_timeout));
}

// Adds what the machine cannot know: when to look again, the nodes' names, and that the clock of a
// node was set. A lease that a majority has renewed is not endangered by it.
result<lease_reply> quorum_rounds::worded(round& one, result<lease_reply> outcome) {
    const lease_request& request = one.machine.request();
    const quorum_owners::asker who = asker_of(request);
    const std::scoped_lock guard(one.mutex);
    if (!outcome) {
        const std::string& name = std::visit(
            [](const auto& asked) -> const std::string& { return asked.name.value(); }, request);
        outcome.error().detail =
            fmt::format("'{}': {}", name, report_of(one.machine, labels_, options_.node_timeout));
    } else if (auto* seen = std::get_if<answer::busy>(&*outcome)) {
        seen->poll_after = owners_.poll_after(who, seen->poll_after, one.machine.split());
    } else if (std::holds_alternative<answer::granted>(*outcome)) {
        owners_.granted(who);
        return outcome;
    } else if (auto* kept = std::get_if<answer::renewed>(&*outcome)) {
        kept->clock.by = stepped_.exchange(duration::zero());
    } else if (auto* gone = std::get_if<answer::lost>(&*outcome);
               gone != nullptr && std::holds_alternative<ask::renew>(request)) {
        gone->clock.by = stepped_.exchange(duration::zero());
    }
    if (std::holds_alternative<ask::acquire>(request)) owners_.refused(who);
    return outcome;
}

// A push is a hint. What a node has missed, a look finds.
void quorum_rounds::hear(std::size_t node, const lease_push& push) {
    const auto* told = std::get_if<handed_off>(&push);
    if (told == nullptr) return;
    const auto hint = owners_.hear(node, told->owner);
    if (!hint) return;
    if (hint->after == duration::zero()) return tell_waiter(told->owner);
    calls_->at(later(time_.now(), hint->after),
               [self = weak_from_this(), owner = told->owner, look = hint->look] {
                   const auto here = self.lock();
                   if (here && here->owners_.still_waits(owner, look)) here->tell_waiter(owner);
               });
}

void quorum_rounds::tell_waiter(const owner_token& owner) {
    if (tell_push_) tell_push_(handed_off{owner, {}, duration::zero()});
}

}  // namespace holdfast::detail

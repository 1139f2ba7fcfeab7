// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_machine.hpp"

#include "core/overloaded.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

duration yes_counts_for(const lease_request& request) {
    return std::visit(overloaded{
                          [](const ask::acquire& asked) { return asked.ttl; },
                          [](const ask::renew& asked) { return asked.ttl; },
                          [](const auto&) { return duration::max(); },
                      },
                      request);
}

// Each node's line is its own, so nobody is handed a name there: whoever waits is told to come and
// ask, and takes a name that is free whether it stands in that node's line or not.
lease_request for_node(const quorum_plan& plan) {
    lease_request request = plan.request;
    if (auto* asked = std::get_if<ask::acquire>(&request)) asked->barge = true;
    if (auto* kept = std::get_if<ask::renew>(&request); kept != nullptr && plan.fencing) {
        kept->floor = std::max(kept->floor, kept->fence);
    }
    return request;
}

}  // namespace

quorum_machine::quorum_machine(quorum_plan plan)
    : plan_(std::move(plan)), majority_(majority_of(plan_.nodes)), words_(plan_.nodes) {
    plan_.undone.resize(plan_.nodes);
    plan_.leaving.resize(plan_.nodes);
    plan_.never_knew.resize(plan_.nodes);
}

quorum_machine::step quorum_machine::start(time_point now) {
    sent_ = now;
    step out;
    out.sends.reserve(plan_.nodes);
    const lease_request request = for_node(plan_);
    const bool acquires = std::holds_alternative<ask::acquire>(request);
    for (std::size_t node = 0; node < plan_.nodes; ++node) {
        if (acquires && plan_.leaving[node]) continue;
        words_[node].said = kind::asked;
        out.sends.push_back({.node = node, .request = request});
    }
    decide(out);
    return out;
}

quorum_machine::step quorum_machine::on_answer(std::size_t node, result<lease_reply> reply,
                                               time_point now) {
    step out;
    take(node, std::move(reply), now, out);
    if (std::exchange(ended_, false)) end_straggler(node, out);
    if (told_) {
        tidy(node, out);
    } else {
        decide(out);
    }
    end_whole(node, out);
    return out;
}

void quorum_machine::take(std::size_t node, result<lease_reply> reply, time_point now, step& out) {
    node_word& word = words_[node];
    const bool raising = std::exchange(word.raising, false);
    if (!reply && plan_.never_knew[node] && std::holds_alternative<ask::leave>(plan_.request)) {
        word.said = kind::yes;
        return;
    }
    if (!reply) {
        // A line that is full is an answer, too.
        word.said = reply.error() == errc::busy ? kind::no : kind::failed;
        word.unraised = raising;
        word.why = std::move(reply.error());
        return;
    }
    // A yes that comes when the lease it speaks of may be over is worth nothing.
    const duration ttl = yes_counts_for(plan_.request);
    const bool agrees = std::holds_alternative<answer::granted>(*reply) ||
                        std::holds_alternative<answer::renewed>(*reply);
    if (agrees && now >= valid_until(sent_, ttl)) {
        word.said = kind::failed;
        word.why = error{errc::unavailable, "answered when the lease would have run out"};
        word.unraised = raising;
        // One that holds the lease keeps what it can get; it gives all of it back.
        const auto* given = std::get_if<answer::granted>(&*reply);
        if (given != nullptr && !won_) {
            word.fence = given->fence;
            undo(node, out);
        }
        return;
    }
    std::visit(overloaded{
                   [&](const answer::granted& given) { take_vote(node, given, out); },
                   [&](const answer::busy& seen) {
                       word.said = kind::no;
                       word.seen = seen;
                   },
                   [&](const answer::renewed& kept) { take_renewal(node, kept, raising); },
                   [&](const answer::released& done) {
                       word.said = kind::yes;
                       word.found = done.found;
                   },
                   [&](const answer::lost& gone) {
                       word.said = kind::no;
                       word.reason = gone.reason;
                   },
               },
               *reply);
}

void quorum_machine::take_vote(std::size_t node, const answer::granted& given, step& out) {
    node_word& word = words_[node];
    word.fence = given.fence;
    if (given.fence > plan_.undone[node]) {
        word.said = kind::yes;
        return;
    }
    // An older grant of ours, whose end is still on its way.
    word.said = kind::no;
    word.seen.poll_after = std::chrono::milliseconds(1);
    undo(node, out);
}

// What was renewed may be an older grant, whose end is still on its way.
void quorum_machine::take_renewal(std::size_t node, const answer::renewed& kept, bool raising) {
    node_word& word = words_[node];
    if (raising && !kept.floored) {
        word.said = kind::failed;
        word.unraised = word.too_far = true;
        word.why = error{errc::unavailable,
                         "the fence that another server drew is further ahead of this one's clock "
                         "than its quarantine: set the servers' clocks"};
        return;
    }
    if (!raising && plan_.undone[node].value != 0) {
        word.said = kind::failed;
        word.why = error{errc::unavailable, "an older grant is being undone there"};
        return;
    }
    word.said = kind::yes;
    word.raised = word.raised || raising;
}

void quorum_machine::decide(step& out) {
    std::visit(overloaded{
                   [&](const ask::acquire& asked) { decide_acquire(asked, out); },
                   [&](const ask::renew& asked) { decide_renew(asked, out); },
                   [&](const ask::release&) { decide_release(out); },
                   [&](const ask::leave&) { decide_leave(out); },
               },
               plan_.request);
}

void quorum_machine::decide_acquire(const ask::acquire& asked, step& out) {
    if (count(kind::yes) + count(kind::asked) < majority_ && vote_again()) {
        return decide_acquire(asked, out);
    }
    const std::size_t yes = count(kind::yes);
    const std::size_t pending = count(kind::asked);
    if (yes + pending < majority_) {
        // What is missing could make it an answer; and the words of all are worth more than haste.
        if (yes + count(kind::no) >= majority_ || pending == 0) refuse_acquire(asked, out);
        return;
    }
    if (yes < majority_) return;
    choose_fence();
    const auto raised = static_cast<std::size_t>(std::ranges::count_if(
        words_, [](const node_word& w) { return w.said == kind::yes && w.raised; }));
    if (!plan_.fencing || raised >= majority_) {
        won_ = true;
        tell(answer::granted{plan_.fencing ? fence_ : fencing_token{}, asked.ttl}, out);
        return;
    }
    raise_others(asked, out);
}

// If a majority refused the fence because it is too far ahead of their clocks, those choose among
// themselves. Each time there are fewer: a node that drew the fence has not refused it.
bool quorum_machine::vote_again() {
    const auto refused = static_cast<std::size_t>(std::ranges::count_if(
        words_, [](const node_word& w) { return w.said == kind::failed && w.too_far; }));
    if (refused < majority_) return false;
    for (node_word& word : words_) {
        const bool votes = word.said == kind::failed && std::exchange(word.too_far, false);
        if (votes) {
            word.said = kind::yes;
            word.unraised = false;
            word.why.reset();
        } else if (word.said == kind::yes) {
            word.said = kind::failed;
            word.unraised = true;
            word.why = error{errc::unavailable,
                             "its clock is ahead of the other servers' by more than the "
                             "quarantine: set it"};
        }
    }
    fence_ = {};
    return true;
}

void quorum_machine::choose_fence() {
    if (fence_.value == 0) {
        for (const node_word& word : words_) {
            if (word.said == kind::yes) fence_ = std::max(fence_, word.fence);
        }
    }
    for (node_word& word : words_) {
        if (word.said == kind::yes && word.fence >= fence_) word.raised = true;
    }
}

void quorum_machine::raise_others(const ask::acquire& asked, step& out) {
    for (std::size_t node = 0; node < plan_.nodes; ++node) {
        node_word& word = words_[node];
        if (word.said != kind::yes || word.raised || word.raising) continue;
        word.raising = true;
        out.sends.push_back({.node = node,
                             .request = ask::renew{asked.name,
                                                   asked.owner,
                                                   asked.mode,
                                                   asked.ttl,
                                                   fence_,
                                                   {fence_.value + asked.spare_fences},
                                                   {}}});
    }
}

// A majority has answered, but not for us: busy. Otherwise too few have answered at all.
void quorum_machine::refuse_acquire(const ask::acquire& asked, step& out) {
    const std::size_t yes = count(kind::yes);
    const bool answered = yes + count(kind::no) >= majority_;
    split_ = answered && yes > 0;
    // Who is told that the outcome is unknown asks again or leaves: what was granted stays so long.
    unknown_ = !answered && in_doubt();
    result<lease_reply> outcome = std::unexpected(no_majority());
    if (answered) {
        const auto full = std::ranges::count_if(
            words_, [](const node_word& w) { return w.said == kind::no && w.why; });
        const bool refuses = asked.otherwise == ask::when_busy::refuse && count(kind::failed) > 0;
        const bool too_full = static_cast<std::size_t>(full) > plan_.nodes - majority_;
        outcome = refuses || too_full ? result<lease_reply>(fail(errc::busy, {})) : busy();
    }
    gives_up_ = asked.otherwise == ask::when_busy::refuse ||
                (!outcome && (outcome.error() == errc::busy || outcome.error() == errc::denied));
    for (std::size_t node = 0; node < plan_.nodes; ++node) end_refused(node, out);
    tell(std::move(outcome), out);
}

// What one node has to do about a refusal: nobody keeps a vote without a majority, or nobody could
// have one. A waiter that asks again is left in its line, and sees to an undoing that fails.
void quorum_machine::end_refused(std::size_t node, step& out) {
    const node_word& word = words_[node];
    if (unknown_) return;
    if (has_granted(word)) {
        undo(node, out);
        out.sends.back().insists = gives_up_;
    }
    if (!gives_up_) return;
    const auto& asked = std::get<ask::acquire>(plan_.request);
    const bool in_line =
        asked.otherwise == ask::when_busy::join_queue && word.said == kind::no && !word.why;
    if (in_line || doubtful(word)) out.leave_at.push_back(node);
}

// One node that knows is enough.
answer::lost quorum_machine::why_lost() const {
    const auto told = std::ranges::find_if(
        words_, [](const node_word& w) { return w.said == kind::no && !w.reason.empty(); });
    return {told != words_.end() ? told->reason : std::string()};
}

void quorum_machine::decide_renew(const ask::renew& asked, step& out) {
    if (count(kind::yes) >= majority_) {
        won_ = true;
        tell(answer::renewed{asked.ttl}, out);
        for (std::size_t node = 0; node < plan_.nodes; ++node) restore(node, out);
    } else if (count(kind::no) > plan_.nodes - majority_) {
        tell(why_lost(), out);
    } else if (count(kind::asked) == 0) {
        tell(std::unexpected(no_majority()), out);
    }
}

void quorum_machine::decide_release(step& out) {
    if (count(kind::yes) >= majority_) {
        tell(answer::released{}, out);
    } else if (count(kind::no) > plan_.nodes - majority_) {
        tell(why_lost(), out);
    } else if (count(kind::asked) == 0) {
        tell(fail(errc::outcome_unknown, {}), out);
    }
}

void quorum_machine::decide_leave(step& out) {
    if (count(kind::yes) >= majority_) {
        const bool found = std::ranges::any_of(words_, &node_word::found);
        tell(answer::released{found}, out);
    } else if (count(kind::failed) > plan_.nodes - majority_) {
        tell(fail(errc::outcome_unknown, {}), out);
    }
}

// What an answer asks for that came after the outcome was told. (A vote for a waiter that has asked
// again since is left to that request: quorum_owners::undoing().)
void quorum_machine::tidy(std::size_t node, step& out) {
    const node_word& word = words_[node];
    if (std::holds_alternative<ask::renew>(plan_.request)) return restore(node, out);
    const auto* asked = std::get_if<ask::acquire>(&plan_.request);
    if (asked == nullptr) return;
    if (!won_) return end_refused(node, out);
    if (plan_.fencing && word.said == kind::yes && word.fence < fence_ && !word.raised) {
        raise_others(*asked, out);
    }
}

// An owner that is given back is ended at every node: also where nobody answers, and where it holds
// nothing but may wait in the queue, since others were enough.
void quorum_machine::end_whole(std::size_t node, step& out) {
    const auto* ended = std::get_if<ask::release>(&plan_.request);
    if (ended == nullptr && !std::holds_alternative<ask::leave>(plan_.request)) return;
    if (words_[node].said == kind::failed) out.leave_at.push_back(node);
    if (ended == nullptr || words_[node].said != kind::no) return;
    out.sends.push_back(
        {.node = node,
         .request = ask::leave{ended->name, ended->owner, ended->mode, ended->has_note},
         .awaited = false,
         .insists = true});
}

// A request that was slow at one node may be carried out when its owner has long been given back.
void quorum_machine::end_straggler(std::size_t node, step& out) {
    if (!std::holds_alternative<ask::acquire>(plan_.request)) return;
    node_word& word = words_[node];
    const auto& asked = std::get<ask::acquire>(plan_.request);
    if (doubtful(word)) out.leave_at.push_back(node);
    if (word.said == kind::no && asked.otherwise == ask::when_busy::join_queue) {
        out.sends.push_back({.node = node,
                             .request = ask::leave{asked.name, asked.owner, asked.mode},
                             .awaited = false,
                             .insists = true});
    }
    if (word.said != kind::yes) return;
    undo(node, out);
    out.sends.back().insists = true;
    word.said = kind::failed;
    word.why = error{errc::unavailable, "it was released meanwhile"};
}

void quorum_machine::undo(std::size_t node, step& out) {
    const auto& asked = std::get<ask::acquire>(plan_.request);
    fencing_token& undone = plan_.undone[node];
    undone = std::max({undone, words_[node].fence, fence_});
    out.sends.push_back({.node = node,
                         .request = ask::release{asked.name, asked.owner, asked.mode, undone},
                         .awaited = false});
}

// A node that has lost a lease which the majority has renewed is asked for it again.
void quorum_machine::restore(std::size_t node, step& out) {
    const node_word& word = words_[node];
    if (!won_ || word.said != kind::no || !word.reason.empty()) return;
    const auto& kept = std::get<ask::renew>(plan_.request);
    out.sends.push_back({.node = node,
                         .request = ask::acquire{.name = kept.name,
                                                 .owner = kept.owner,
                                                 .mode = kept.mode,
                                                 .ttl = kept.ttl,
                                                 .ticket = {},
                                                 .barge = true,
                                                 .again = true,
                                                 .note = kept.note},
                         .awaited = false});
}

void quorum_machine::tell(result<lease_reply> outcome, step& out) {
    told_ = true;
    out.outcome = std::move(outcome);
}

std::size_t quorum_machine::count(kind said) const {
    return static_cast<std::size_t>(std::ranges::count(words_, said, &node_word::said));
}

bool quorum_machine::doubtful(const node_word& word) {
    return word.said == kind::failed && word.why && *word.why == errc::outcome_unknown;
}

// As far as it said itself. One that could not take the quorum's fence still has what it granted.
bool quorum_machine::has_granted(const node_word& word) {
    return word.said == kind::yes || (word.unraised && !doubtful(word));
}

bool quorum_machine::in_doubt() const {
    return std::ranges::any_of(words_, &quorum_machine::doubtful);
}

// Although no majority has answered, a node that said busy has the waiter in its line, and the
// undoing of a vote, or of one that came too late, may fail: it must leave when it gives up.
bool quorum_machine::is_known_somewhere() const {
    const auto* asked = std::get_if<ask::acquire>(&plan_.request);
    return asked != nullptr && asked->otherwise == ask::when_busy::join_queue &&
           std::ranges::any_of(words_, [](const node_word& w) {
               const bool too_late = w.said == kind::failed && w.fence.value != 0;
               return has_granted(w) || too_late || (w.said == kind::no && !w.why);
           });
}

// The code that tells the caller what to do; who knows the nodes' names adds the words.
error quorum_machine::no_majority() const {
    if (in_doubt()) return {errc::outcome_unknown, {}};
    const auto denied = [](const node_word& w) { return w.why && *w.why == errc::denied; };
    const auto refusals = static_cast<std::size_t>(std::ranges::count_if(words_, denied));
    if (refusals > plan_.nodes - majority_) return {errc::denied, {}};
    return {is_known_somewhere() ? errc::outcome_unknown : errc::unavailable, {}};
}

// When enough nodes may be free, as far as each can tell.
answer::busy quorum_machine::busy() const {
    answer::busy merged{};
    std::vector<duration> looks;
    for (const node_word& word : words_) {
        if (word.said != kind::no) continue;
        looks.push_back(word.seen.poll_after);
        merged.ahead = std::max(merged.ahead, word.seen.ahead);
        merged.ticket = std::max(merged.ticket, word.seen.ticket);
    }
    const std::size_t missing = majority_ - std::min(majority_ - 1, count(kind::yes));
    std::ranges::sort(looks);
    if (!looks.empty()) merged.poll_after = looks[std::min(missing, looks.size()) - 1];
    return merged;
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/quorum_lease_store.hpp"

#include "core/require.hpp"
#include "core/validity.hpp"
#include "lease/awaited_replies.hpp"
#include "lease/quorum/quorum_rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <thread>
#include <utility>

namespace holdfast {
namespace {

// What an operator asks for may take longer than a lease request; a silent node must not cost all.
constexpr int patience_of_operators = 4;

// A node may have missed what the holder says of itself.
void complete_notes(lease_info& best, const lease_info& other) {
    for (holder_info& holder : best.holders) {
        for (const holder_info& same : other.holders) {
            if (holder.note.empty() && same.client == holder.client) holder.note = same.note;
        }
    }
}

/// The word of a majority about one name, from what each of them lists.
lease_info merged(std::vector<lease_info> seen, std::size_t majority) {
    // From its first renewal on, a majority knows the fence of the lease or a larger one, and fewer
    // know a larger one.
    std::ranges::sort(seen, std::ranges::greater{}, &lease_info::fence);
    lease_info best = seen[majority - 1];
    std::vector<duration> remaining;
    for (lease_info& one : seen) {
        best.waiters = std::max(best.waiters, one.waiters);
        complete_notes(best, one);
        if (one.queue.size() > best.queue.size()) best.queue = std::move(one.queue);
        if (one.remaining) remaining.push_back(*one.remaining);
    }
    // It is over when fewer than a majority have it.
    std::ranges::sort(remaining, std::ranges::greater{});
    if (remaining.size() >= majority) best.remaining = remaining[majority - 1];
    return best;
}

bool is_success(const result<lease_reply>& said) {
    return said && !std::holds_alternative<answer::busy>(*said) &&
           !std::holds_alternative<answer::lost>(*said);
}

}  // namespace

quorum_lease_store::quorum_lease_store(std::vector<quorum_node> nodes, clock& time, entropy& chance,
                                       const quorum_options& options)
    : nodes_(std::move(nodes)),
      time_(time),
      waits_(time, detail::adaptive_yield::with_several()),
      options_(options),
      rounds_(std::make_shared<detail::quorum_rounds>(nodes_, time, chance, options)) {
    detail::require(!nodes_.empty(), "at least one node");
}

quorum_lease_store::~quorum_lease_store() {
    rounds_->close();
}

capabilities quorum_lease_store::can() const noexcept {
    return {.fencing = options_.fences == quorum_options::fence::on,
            .pushes = true,
            .listing = std::ranges::all_of(
                nodes_, [](const quorum_node& node) { return node.store->can().listing; })};
}

void quorum_lease_store::submit(std::vector<lease_request> requests, time_point give_up,
                                reply_handler on_reply) {
    rounds_->submit(std::move(requests), give_up, std::move(on_reply));
}

void quorum_lease_store::exchange(std::span<const lease_request> requests,
                                  std::span<result<lease_reply>> replies, time_point give_up) {
    detail::require(replies.size() == requests.size(), "replies.size() == requests.size()");
    // This thread does the nodes' I/O while it waits. The outcome is there before the last node has
    // answered. If all is well, nothing urgent depends on what that one says; otherwise there
    // may be a vote to undo, and it is awaited for as long again.
    detail::inline_io turn(time_, waits_);
    const time_point asked = time_.now();
    const auto all = std::make_shared<detail::awaited_replies>(requests.size());
    rounds_->submit({requests.begin(), requests.end()}, give_up,
                    [all](std::size_t i, result<lease_reply> one) { all->put(i, std::move(one)); });
    all->take(replies, time_, give_up, "the nodes did not answer in time");
    if (std::ranges::all_of(replies, is_success)) return;
    turn.linger(std::min<duration>(time_.now() - asked, std::chrono::milliseconds(10)));
}

void quorum_lease_store::on_push(push_handler handler) {
    rounds_->on_push(std::move(handler));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        nodes_[i].store->on_push([weak = std::weak_ptr(rounds_), i](const lease_push& push) {
            if (const auto rounds = weak.lock()) rounds->hear(i, push);
        });
    }
}

void quorum_lease_store::settle(time_point until) {
    rounds_->settle(until);
}

void quorum_lease_store::introduce(const client_id& id, const client_label& who) {
    for (const quorum_node& node : nodes_) node.store->introduce(id, who);
}

std::size_t quorum_lease_store::leavings() const noexcept {
    return rounds_->leavings();
}

time_point quorum_lease_store::step() {
    return rounds_->step();
}

// For what operators ask now and then: a short thread for each node. Answers what the nodes said
// that answered, if they are a majority.
template <class Answer, class Ask>
result<std::vector<Answer>> quorum_lease_store::ask_all(std::string_view what, time_point give_up,
                                                        const Ask& ask) {
    const time_point end =
        std::min(give_up, later(time_.now(), patience_of_operators * options_.node_timeout));
    std::vector<result<Answer>> said(nodes_.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < nodes_.size(); ++i) {
            threads.emplace_back([&, i] { said[i] = ask(*nodes_[i].store, end); });
        }
    }
    std::vector<Answer> answers;
    std::string report;
    std::optional<errc> code;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (said[i]) {
            answers.push_back(std::move(*said[i]));
            continue;
        }
        if (!code || said[i].error() == errc::outcome_unknown) code = said[i].error().code;
        report += fmt::format("{}{}: {}", report.empty() ? "" : "; ", nodes_[i].label,
                              said[i].error().detail);
    }
    if (answers.size() >= detail::majority_of(nodes_.size())) return answers;
    return fail(*code, fmt::format("{}: {} of {} answered: {}", what, answers.size(), nodes_.size(),
                                   report));
}

result<wall_time> quorum_lease_store::time_of_day(time_point give_up) {
    auto told = ask_all<wall_time>("time of day", give_up, [](lease_store& node, time_point end) {
        return node.time_of_day(end);
    });
    if (!told) return std::unexpected(std::move(told.error()));
    std::ranges::sort(*told);
    return (*told)[told->size() / 2];
}

result<std::vector<lease_info>> quorum_lease_store::list(std::string_view prefix,
                                                         time_point give_up) {
    auto told = ask_all<std::vector<lease_info>>(
        "list", give_up,
        [prefix](lease_store& node, time_point end) { return node.list(prefix, end); });
    if (!told) return std::unexpected(std::move(told.error()));
    std::map<std::string, std::vector<lease_info>> by_name;
    for (auto& one : *told) {
        for (lease_info& info : one) by_name[info.name].push_back(std::move(info));
    }
    const std::size_t majority = detail::majority_of(nodes_.size());
    std::vector<lease_info> all;
    for (auto& [name, seen] : by_name) {
        if (seen.size() >= majority) all.push_back(merged(std::move(seen), majority));
    }
    return all;
}

result<std::optional<lease_info>> quorum_lease_store::inspect(const lock_name& name,
                                                              time_point give_up) {
    auto told = ask_all<std::optional<lease_info>>(
        "inspect", give_up,
        [&name](lease_store& node, time_point end) { return node.inspect(name, end); });
    if (!told) return std::unexpected(std::move(told.error()));
    std::vector<lease_info> seen;
    for (auto& one : *told) {
        if (one) seen.push_back(std::move(*one));
    }
    const std::size_t majority = detail::majority_of(nodes_.size());
    if (seen.size() < majority) return std::nullopt;
    return merged(std::move(seen), majority);
}

// Of two that adopt the same lease, at most one has a majority. Who has none leaves what it got.
result<lease_reply> quorum_lease_store::adopt(const lease_adoption& asked, time_point give_up) {
    if (asked.ttl > options_.longest_ttl) {
        return fail(errc::invalid_argument,
                    "the ttl is longer than the quarantine, which must outlast every lease: "
                    "shorten it, or raise quarantine= in the URL");
    }
    auto told = ask_all<lease_reply>("adopt", give_up, [&](lease_store& node, time_point end) {
        return node.adopt(asked, end);
    });
    if (!told) return std::unexpected(std::move(told.error()));
    std::size_t yes = 0;
    answer::lost no;
    for (const lease_reply& one : *told) {
        if (std::holds_alternative<answer::renewed>(one)) ++yes;
        const auto* lost = std::get_if<answer::lost>(&one);
        if (lost != nullptr && !lost->reason.empty()) no = *lost;
    }
    if (yes >= detail::majority_of(nodes_.size())) return answer::renewed{asked.ttl};
    return no;
}

result<std::uint32_t> quorum_lease_store::evict(const lock_name& name, std::string_view reason,
                                                time_point give_up) {
    auto told = ask_all<std::uint32_t>("evict", give_up, [&](lease_store& node, time_point end) {
        return node.evict(name, reason, end);
    });
    if (!told) return std::unexpected(std::move(told.error()));
    return std::ranges::max(*told);
}

// Whoever takes a name away tells all nodes: the one that remembers most was there each time.
result<std::vector<eviction_info>> quorum_lease_store::evictions(const lock_name& name,
                                                                 time_point give_up) {
    auto told = ask_all<std::vector<eviction_info>>(
        "evictions", give_up,
        [&name](lease_store& node, time_point end) { return node.evictions(name, end); });
    if (!told) return std::unexpected(std::move(told.error()));
    return std::ranges::max(*told, {}, &std::vector<eviction_info>::size);
}

}  // namespace holdfast

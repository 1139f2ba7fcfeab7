// SPDX-License-Identifier: Apache-2.0
//
// Several names at once. The machines are those of one acquire and one release
// (core/acquire_machine.hpp, core/release_machine.hpp); whatever they want to send at the same time
// is one exchange with the store, which is one trip where the engine allows it.
//
// Two who want some of the same names cannot block each other, whatever order they name them in:
// nobody waits for a name while it holds a later one. All are asked for at once, without waiting.
// If one is not to be had, those before it (in the order of names) are kept, those after it are
// given back, and only then does the caller wait in the queue for it. Then the rest is asked for.
#include "core/validity.hpp"
#include "lock/lock_runtime.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace holdfast::detail {
namespace {

/// What several machines want to send now, and whose each request is.
struct mailbag {
    std::vector<lease_request> requests;
    std::vector<std::size_t> senders;
    time_point give_up = time_point::min();

    explicit mailbag(std::size_t most) {
        requests.reserve(most);
        senders.reserve(most);
    }

    void add(std::size_t sender, lease_request request, time_point until) {
        requests.push_back(std::move(request));
        senders.push_back(sender);
        give_up = std::max(give_up, until);
    }
};

std::vector<result<lease_reply>> carry(lease_store& store, const mailbag& out) {
    std::vector<result<lease_reply>> replies(out.requests.size());
    store.exchange(out.requests, replies, out.give_up);
    return replies;
}

// What queueing cures: another holder, an engine that is away.
bool is_worth_a_wait(const error& why) {
    return why == errc::busy || why == errc::unavailable || why == errc::timed_out ||
           why == errc::outcome_unknown;
}

bool is_an_answer(const error& why) {
    return why == errc::busy || why == errc::timed_out || why == errc::cancelled ||
           why == errc::lease_lost;
}

error out_of_time(const lock_name& wanted) {
    return {errc::timed_out,
            fmt::format("'{}' was held by someone else when the time was over", wanted.value())};
}

}  // namespace

std::vector<result<lease>> lock_runtime::acquire_each(std::span<const lock_name> names,
                                                      const acquire_options& options) {
    const open_calls::guard under_way(calls_);
    std::vector<result<lease>> got;
    got.reserve(names.size());
    if (const auto fit = ready(options, {}); !fit) {
        for (std::size_t i = 0; i < names.size(); ++i) {
            got.emplace_back(std::unexpected(fit.error()));
        }
        return got;
    }
    const time_point asked = clock_.now();
    std::vector<acquire_machine> machines;
    machines.reserve(names.size());
    std::vector<std::optional<acquire_machine::finish>> ends(names.size());
    mailbag out(names.size());
    const auto follow = [&](std::size_t i, acquire_machine::action&& next) {
        if (auto* more = std::get_if<acquire_machine::send>(&next)) {
            out.add(i, std::move(more->request), more->give_up);
        } else {  // who asks once never sleeps
            ends[i].emplace(std::move(std::get<acquire_machine::finish>(next)));
        }
    };
    for (const lock_name& name : names) {
        machines.emplace_back(acquire_plan{.name = name,
                                           .owner = owner_token::draw(chance(), id_),
                                           .mode = {},
                                           .ttl = options.ttl,
                                           .wait_until = time_point::min(),
                                           .request_timeout = options_.request_timeout,
                                           .barge = options.barging,
                                           .drift = options.drift});
        follow(machines.size() - 1, machines.back().start(asked));
    }
    while (!out.requests.empty()) {
        const mailbag sent = std::exchange(out, mailbag(0));
        auto replies = carry(*store_, sent);
        const time_point now = clock_.now();
        for (std::size_t k = 0; k < replies.size(); ++k) {
            const std::size_t i = sent.senders[k];
            follow(i, machines[i].on_reply(std::move(replies[k]), now));
        }
    }
    for (std::size_t i = 0; i < names.size(); ++i) {
        const acquire_plan& plan = machines[i].plan();
        if (ends[i]->leftover) leave_in_background(plan, ends[i]->doubts);
        if (ends[i]->outcome) {
            got.push_back(hand_out(plan, *ends[i]->outcome, options, asked));
        } else {
            got.emplace_back(std::unexpected(std::move(ends[i]->outcome.error())));
        }
    }
    return got;
}

// In the order of names. Answers all of them, or none and why.
result<std::vector<lease>> lock_runtime::acquire_sorted(std::span<const lock_name> names,
                                                        const acquire_options& options) {
    const time_point asked = clock_.now();
    const time_point until = later(asked, options.wait);
    std::vector<lease> held;
    held.reserve(names.size());
    // An engine that is away is not waited for: what it may know of us ends in the background.
    const auto give_up = [&](error why) {
        if (is_an_answer(why)) static_cast<void>(release_each(std::move(held)));
        return std::unexpected(std::move(why));
    };
    while (held.size() < names.size()) {
        auto got = acquire_each(names.subspan(held.size()), options);
        auto first = got.begin();
        while (first != got.end() && *first) held.push_back(std::move(**first++));
        if (first == got.end()) break;
        const lock_name& wanted = names[held.size()];
        error why = std::move(first->error());
        std::vector<lease> rest;
        for (; first != got.end(); ++first) {
            if (*first) rest.push_back(std::move(**first));
        }
        static_cast<void>(release_each(std::move(rest)));
        const bool waits = options.wait != duration::zero() && is_worth_a_wait(why);
        acquire_options alone = options;
        if (options.wait != forever) alone.wait = until - clock_.now();
        if (waits && alone.wait <= duration::zero() && why == errc::busy) why = out_of_time(wanted);
        if (!waits || alone.wait <= duration::zero()) {
            report_->refused(wanted, why, clock_.now() - asked, options.listener);
            return give_up(std::move(why));
        }
        auto next = acquire(wanted, alone);
        const bool late = options.wait != forever && clock_.now() >= until;
        if (!next && late && why == errc::busy && next.error() == errc::unavailable) {
            return give_up(out_of_time(wanted));
        }
        if (!next) return give_up(std::move(next.error()));
        held.push_back(std::move(*next));
    }
    const auto gone = std::ranges::find_if_not(held, &lease::held);
    if (gone == held.end()) return held;
    return give_up(
        {errc::lease_lost, fmt::format("'{}' was lost while others were waited for: {}",
                                       gone->name().value(), to_string(gone->reason()))});
}

result<lease_set> lock_runtime::acquire_all(std::vector<lock_name> names,
                                            const acquire_options& options) {
    if (const auto fit = ready(options, {}); !fit) return std::unexpected(fit.error());
    if (options.stop.stop_requested()) {
        return fail(errc::cancelled, "the acquire of several names was cancelled");
    }
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) -> const lock_name& { return names[i]; });
    std::vector<lock_name> sorted;
    sorted.reserve(names.size());
    for (const std::size_t i : order) sorted.push_back(std::move(names[i]));
    const auto twice = std::ranges::adjacent_find(sorted);
    if (twice != sorted.end()) {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' comes twice: name each once", twice->value()));
    }
    auto held = acquire_sorted(sorted, options);
    if (!held) return std::unexpected(std::move(held.error()));
    std::vector<std::size_t> place(order.size());
    for (std::size_t k = 0; k < order.size(); ++k) place[order[k]] = k;
    std::vector<lease> as_named;
    as_named.reserve(place.size());
    for (const std::size_t k : place) as_named.push_back(std::move((*held)[k]));
    return lease_set(shared_from_this(), std::move(as_named));
}

std::vector<result<void>> lock_runtime::release_each(std::vector<lease> leases) {
    const open_calls::guard under_way(calls_);
    std::vector<result<void>> said(leases.size());
    std::vector<std::optional<release_machine>> machines(leases.size());
    std::vector<std::shared_ptr<lease_state>> states;
    states.reserve(leases.size());
    mailbag out(leases.size());
    const auto follow = [&](std::size_t i, release_machine::action&& next) {
        if (const auto* more = std::get_if<release_machine::send>(&next)) {
            out.add(i, *more->request, more->give_up);
        } else {
            said[i] = end_release(*states[i], std::move(std::get<release_machine::finish>(next)));
        }
    };
    for (std::size_t i = 0; i < leases.size(); ++i) {
        const bool open = leases[i].open();
        leases[i].runtime_.reset();
        states.push_back(std::move(leases[i].state_));
        if (!open) continue;
        auto begun = begin_release(*states[i]);
        if (auto* known = std::get_if<result<void>>(&begun)) {
            said[i] = std::move(*known);
            continue;
        }
        machines[i].emplace(std::move(std::get<release_machine>(begun)));
        follow(i, machines[i]->start());
    }
    while (!out.requests.empty()) {
        const mailbag sent = std::exchange(out, mailbag(0));
        auto replies = carry(*store_, sent);
        const time_point now = clock_.now();
        for (std::size_t k = 0; k < replies.size(); ++k) {
            const std::size_t i = sent.senders[k];
            follow(i, machines[i]->on_reply(replies[k], now));
        }
    }
    return said;
}

}  // namespace holdfast::detail

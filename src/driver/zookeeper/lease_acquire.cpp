// SPDX-License-Identifier: Apache-2.0
//
// How a name is acquired: make the entry's node, list those of the name, both in one trip. What the
// list says decides.
#include "driver/zookeeper/lease_core.hpp"
#include "lease/ordered/entry_text.hpp"

#include "core/lease_bounds.hpp"
#include "core/permit_bounds.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

// The name's node may be removed, and a session may end, just before they are used.
constexpr int most_attempts = 6;

// How long a waiter's place is kept without a poll, by the client that it belongs to.
constexpr duration place_kept = 3s;

bool is_gone(const answered& said) {
    return said.is == outcome::session_over;
}

std::optional<error> unfit_mode(const ask::acquire& asked) {
    if (asked.mode.type != lease_mode::kind::permit) return std::nullopt;
    if (auto why = detail::unfit_permits(asked.mode)) return why;
    if (asked.mode.permits <= asked.mode.limit) return std::nullopt;
    return error{errc::invalid_argument,
                 fmt::format("{} permits at once of '{}': there are only {}", asked.mode.permits,
                             asked.name.value(), asked.mode.limit)};
}

/// The entry of this owner that has this key; any of its, if that is not known.
const ordered::queue_entry* own_entry(const ordered::queue_order& queue, const standing& mine) {
    for (const ordered::queue_entry& one : queue.entries()) {
        if (one.owner != mine.entry.owner) continue;
        if (mine.entry.key.empty() || one.key == mine.entry.key) return &one;
    }
    return nullptr;
}

}  // namespace

auto lease_core::acquire(core_ptr self, ask::acquire asked, time_point give_up) -> reply {
    if (auto why = unfit_mode(asked)) co_return std::unexpected(std::move(*why));
    std::optional<standing> known = self->book_.find(standing_book::of(asked.name, asked.owner));
    if (!known && asked.turns.value != 0) {
        // Another store may have put it there.
        later<std::optional<standing>> finding =
            find_holder(self, asked.name, asked.owner, asked.ttl, give_up);
        result<std::optional<standing>> found = co_await finding;
        if (!found) co_return std::unexpected(std::move(found.error()));
        known = std::move(*found);
    }
    if (known && !known->on->is_over()) {
        later<std::optional<lease_reply>> looking =
            look_again(self, asked, std::move(*known), give_up);
        result<std::optional<lease_reply>> found = co_await looking;
        if (!found) co_return std::unexpected(std::move(found.error()));
        if (*found) co_return std::move(**found);
    }
    if (asked.turns.value != 0) co_return lease_reply(answer::lost{});
    reply joining = join(self, asked, give_up);
    result<lease_reply> joined = co_await joining;
    co_return joined;
}

auto lease_core::join(core_ptr self, ask::acquire asked, time_point give_up) -> reply {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        result<session_ptr> on = self->client_.session_for(asked.ttl);
        if (!on) co_return std::unexpected(std::move(on.error()));
        later<std::optional<lease_reply>> joining = join_once(self, asked, *on, give_up);
        result<std::optional<lease_reply>> joined = co_await joining;
        if (!joined) co_return std::unexpected(std::move(joined.error()));
        if (*joined) co_return std::move(**joined);
    }
    co_return fail(
        errc::unavailable,
        fmt::format("zookeeper: the node of '{}' went away again and again", asked.name.value()));
}

// Nothing: it came to nothing, and nothing is left of it.
auto lease_core::join_once(core_ptr self, ask::acquire asked, session_ptr on, time_point give_up)
    -> later<std::optional<lease_reply>> {
    const place at = standing_book::of(asked.name, asked.owner);
    pending<bool> connecting = on->connected(give_up);
    const bool ready = co_await connecting;
    if (!ready) {
        const answered why = on->no_connection();
        if (is_gone(why)) co_return std::nullopt;
        co_return std::unexpected(self->problem(why));
    }
    const time_point since = self->now();
    standing mine{.entry = self->new_entry(asked), .on = on, .ttl = asked.ttl};
    mine.ends = since + std::max(granted_for(mine), place_kept);
    self->put(at, mine);
    const std::string directory = self->names_.directory(asked.name.value());
    const std::string prefix = self->names_.prefix(asked.owner.value(), asked.mode);
    pending<answered> making = on->send({.what = request::kind::make,
                                         .path = directory + "/" + prefix,
                                         .data = ordered::entry_text(mine.entry),
                                         .as = node_kind::ephemeral_sequential},
                                        give_up);
    pending<answered> listing =
        on->send({.what = request::kind::children, .path = directory}, give_up);
    answered made = co_await making;
    answered listed = co_await listing;
    if (made.is == outcome::done) {
        mine.entry.key = made.text.substr(directory.size() + 1);
        mine.entry.made = made.stat.made;
    } else if (made.is == outcome::no_connection) {
        later<std::optional<standing>> searching = find_lost(self, asked, on, give_up);
        result<std::optional<standing>> found = co_await searching;
        if (!found) co_return fail(errc::outcome_unknown, std::move(found.error().detail));
        if (!*found) co_return std::nullopt;
        mine.entry = (*found)->entry;
    } else if (made.is == outcome::timed_out) {
        co_return std::unexpected(self->problem(made));  // the book knows that it may be there
    } else {
        self->book_.take(at);
        if (is_gone(made)) co_return std::nullopt;
        if (made.is != outcome::no_node) co_return std::unexpected(self->problem(made));
        later<bool> preparing = make_directory(self, on, directory, give_up);
        const result<bool> prepared = co_await preparing;
        if (!prepared) co_return std::unexpected(prepared.error());
        co_return std::nullopt;
    }
    self->put(at, mine);
    ordered::queue_order queue(entry_names::read(listed.names));
    if (listed.is != outcome::done || own_entry(queue, mine) == nullptr) {
        later<std::optional<lease_reply>> looking = look_again(self, asked, mine, give_up);
        result<std::optional<lease_reply>> found = co_await looking;
        co_return found;
    }
    reply concluding = conclude(self, asked, std::move(mine), std::move(queue), since, give_up);
    result<lease_reply> concluded = co_await concluding;
    if (!concluded) co_return std::unexpected(std::move(concluded.error()));
    co_return std::move(*concluded);
}

// The connection was lost before the answer: is the node there? A session's requests are carried
// out in order, so what this does not find was not made. Nodes of an earlier session are removed:
// they end with that, not with this one.
auto lease_core::find_lost(core_ptr self, ask::acquire asked, session_ptr on, time_point give_up)
    -> later<std::optional<standing>> {
    later<ordered::queue_order> reading = read_queue(self, on, asked.name, give_up);
    result<ordered::queue_order> queue = co_await reading;
    if (!queue && on->is_over()) co_return std::nullopt;
    if (!queue) co_return std::unexpected(std::move(queue.error()));
    std::optional<standing> found;
    for (const ordered::queue_entry& one : queue->entries()) {
        if (one.owner != asked.owner.value()) continue;
        std::int64_t session = 0;
        later<ordered::queue_entry> asking =
            with_data(self, on, asked.name, one, give_up, &session);
        result<ordered::queue_entry> whole = co_await asking;
        if (!whole) co_return std::unexpected(std::move(whole.error()));
        if (session == on->id()) {
            found = standing{.entry = std::move(*whole), .on = on, .ttl = asked.ttl};
            continue;
        }
        pending<answered> removing = zookeeper_session::call(
            on, {.what = request::kind::remove, .path = self->path_of(asked.name, one.key)},
            give_up);
        co_await removing;
    }
    co_return found;
}

// Nothing: it is not there any more.
auto lease_core::look_again(core_ptr self, ask::acquire asked, standing mine, time_point give_up)
    -> later<std::optional<lease_reply>> {
    const place at = standing_book::of(asked.name, asked.owner);
    const time_point since = self->now();
    if (mine.entry.key.empty()) {
        later<std::optional<standing>> searching = find_lost(self, asked, mine.on, give_up);
        result<std::optional<standing>> found = co_await searching;
        if (!found) co_return std::unexpected(std::move(found.error()));
        if (!*found) co_return std::nullopt;
        mine.entry = (*found)->entry;
    }
    later<ordered::queue_order> reading = read_queue(self, mine.on, asked.name, give_up);
    result<ordered::queue_order> queue = co_await reading;
    if (!queue) {
        if (mine.on->is_over()) co_return std::nullopt;
        co_return std::unexpected(std::move(queue.error()));
    }
    const ordered::queue_entry* const there = own_entry(*queue, mine);
    if (there == nullptr) {
        if (const auto gone = self->book_.take(at)) self->forget(at, *gone);
        if (asked.turns.value != 0) co_return lease_reply(answer::lost{});
        co_return std::nullopt;
    }
    // One that asks for what it has not got keeps what it has.
    if (there->mode != asked.mode) {
        if (auto why = queue->unfit(asked)) co_return std::unexpected(std::move(*why));
    }
    mine.ttl = asked.ttl;
    const bool known = self->book_.update(at, [&](standing& one) {
        one.ttl = mine.ttl;
        if (one.entry.key.empty()) one.entry = mine.entry;
        one.ends = std::max(one.ends, since + place_kept);
        mine = one;
    });
    // Its time was over while it was asked for: its node is being removed.
    if (!known) co_return std::nullopt;
    reply concluding = conclude(self, asked, std::move(mine), std::move(*queue), since, give_up);
    result<lease_reply> concluded = co_await concluding;
    if (!concluded) co_return std::unexpected(std::move(concluded.error()));
    co_return std::move(*concluded);
}

auto lease_core::conclude(core_ptr self, ask::acquire asked, standing mine,
                          ordered::queue_order queue, time_point since, time_point give_up)
    -> reply {
    const place at = standing_book::of(asked.name, asked.owner);
    const ordered::queue_entry* const there = own_entry(queue, mine);
    if (auto why = queue.unfit(asked)) {
        reply leaving = withdraw(self, asked, std::move(*why), give_up);
        result<lease_reply> left = co_await leaving;
        co_return left;
    }
    if (queue.holds(*there)) {
        mine.on->unwatch(std::exchange(mine.watch, 0));
        if (asked.turns.value != 0) {
            reply turning = turn(self, asked, std::move(mine), since, give_up);
            result<lease_reply> turned = co_await turning;
            co_return turned;
        }
        later<std::optional<standing>> lengthening =
            lengthen(self, asked.name, std::move(mine), asked.ttl, give_up);
        result<std::optional<standing>> longer = co_await lengthening;
        if (!longer) co_return std::unexpected(std::move(longer.error()));
        if (!*longer) co_return fail(errc::outcome_unknown, "zookeeper: the entry is gone");
        mine = std::move(**longer);
        mine.holds = true;
        mine.ends = since + granted_for(mine);
        const bool known = self->book_.update(at, [&](standing& one) { one = mine; });
        if (!known) co_return fail(errc::outcome_unknown, "zookeeper: it took too long");
        self->client_.wake_at(mine.ends);
        co_return lease_reply(answer::granted{mine.entry.fence(), granted_for(mine)});
    }
    if (asked.turns.value != 0) co_return lease_reply(answer::lost{});
    const std::uint32_t ahead = queue.waiters_before(there);
    const bool full = ahead >= ordered::queue_order::most_waiters;
    if (asked.otherwise == ask::when_busy::refuse || full) {
        error why{errc::busy, full ? fmt::format("the queue for '{}' is full: {} wait",
                                                 asked.name.value(), ahead)
                                   : std::string()};
        reply leaving = withdraw(self, asked, std::move(why), give_up);
        result<lease_reply> left = co_await leaving;
        co_return left;
    }
    // Those that hold the name stand before it: their fences are below its own.
    const fencing_token below{mine.entry.fence().value - 1};
    answer::busy said{detail::longest_poll, ahead, {there->position}, below};
    watch_turn(self, at, std::move(mine), std::move(queue));
    co_return lease_reply(said);
}

// It shares the name from now on: the same place, and so the same fence, under another name.
auto lease_core::turn(core_ptr self, ask::acquire asked, standing mine, time_point since,
                      time_point give_up) -> reply {
    const place at = standing_book::of(asked.name, asked.owner);
    // One that was passed on inside a client has a later fence of the same entry.
    const std::uint64_t each = ordered::queue_entry::fences_each;
    if (asked.turns.value / each != mine.entry.fence().value / each) {
        co_return lease_reply(answer::lost{});
    }
    if (mine.entry.mode != asked.mode) {
        ordered::queue_entry changed = mine.entry;
        changed.mode = asked.mode;
        session_ptr to = mine.on;
        later<std::optional<standing>> moving =
            move(self, asked.name, std::move(mine), std::move(changed), std::move(to), give_up);
        result<std::optional<standing>> moved = co_await moving;
        if (!moved) co_return std::unexpected(std::move(moved.error()));
        if (!*moved) co_return lease_reply(answer::lost{});
        mine = std::move(**moved);
    }
    mine.ttl = asked.ttl;
    mine.holds = true;
    mine.ends = since + granted_for(mine);
    const duration granted = granted_for(mine);
    self->put(at, std::move(mine));
    co_return lease_reply(answer::granted{asked.turns, granted});
}

// Somebody was quicker, or it does not fit: one that does not wait takes its entry back. `why` with
// no text: it is answered as busy.
auto lease_core::withdraw(core_ptr self, ask::acquire asked, error why, time_point give_up)
    -> reply {
    later<bool> ending = end(self, asked.name, asked.owner, {}, give_up);
    result<bool> ended = co_await ending;
    if (!ended) co_return fail(errc::outcome_unknown, std::move(ended.error().detail));
    if (!why.detail.empty()) co_return std::unexpected(std::move(why));
    co_return lease_reply(answer::busy{detail::longest_poll, 0, {}, {}});
}

}  // namespace holdfast::zookeeper

// SPDX-License-Identifier: Apache-2.0
//
// How an entry changes what its node's name says, or whose session it lives by: its node is removed
// and another one made with the same number, in one transaction. So it keeps its place, for every
// recipe that orders nodes by their numbers. The fence is that of the first node; it is written
// into the new one, because that is made later.
#include "driver/zookeeper/lease_core.hpp"
#include "lease/ordered/entry_text.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::zookeeper {
namespace {

constexpr int most_moves = 4;

}  // namespace

auto lease_core::move(core_ptr self, lock_name name, standing mine, ordered::queue_entry changed,
                      session_ptr to, time_point give_up) -> later<std::optional<standing>> {
    const std::string number(entry_names::number_text(mine.entry.key));
    changed.key = self->names_.prefix(changed.owner, changed.mode) + number;
    changed.made = mine.entry.made;
    for (int attempt = 0; attempt < most_moves; ++attempt) {
        request exchange{.what = request::kind::several, .path = {}};
        exchange.changes.push_back(
            {.what = node_change::kind::remove, .path = self->path_of(name, mine.entry.key)});
        exchange.changes.push_back({.what = node_change::kind::make,
                                    .path = self->path_of(name, changed.key),
                                    .data = ordered::entry_text(changed),
                                    .as = node_kind::ephemeral});
        pending<answered> asking =
            zookeeper_session::call(to, std::move(exchange), give_up, if_lost::stop);
        answered said = co_await asking;
        if (said.is == outcome::no_node || said.is == outcome::exists) co_return std::nullopt;
        if (said.is == outcome::session_over) {
            result<session_ptr> next = self->client_.session_for(mine.ttl);
            if (!next) co_return std::unexpected(std::move(next.error()));
            to = std::move(*next);
            continue;
        }
        bool moved = said.is == outcome::done;
        if (said.is == outcome::no_connection) {
            later<ordered::queue_order> reading = read_queue(self, to, name, give_up);
            result<ordered::queue_order> queue = co_await reading;
            if (!queue) {
                self->suspect(name, mine, changed, to);
                co_return fail(errc::outcome_unknown, std::move(queue.error().detail));
            }
            std::int64_t session = 0;
            later<ordered::queue_entry> looking =
                with_data(self, to, name, changed, give_up, &session);
            result<ordered::queue_entry> seen = co_await looking;
            if (!seen) {
                self->suspect(name, mine, changed, to);
                co_return fail(errc::outcome_unknown, std::move(seen.error().detail));
            }
            moved = session == to->id();
            if (!moved) continue;
        }
        if (said.is == outcome::timed_out) self->suspect(name, mine, changed, to);
        if (!moved) co_return std::unexpected(self->problem(said));
        mine.entry = std::move(changed);
        mine.on->unwatch(std::exchange(mine.watch, 0));
        mine.on = std::move(to);
        co_return mine;
    }
    co_return fail(
        errc::unavailable,
        fmt::format("zookeeper: the connection was lost again and again at '{}'", name.value()));
}

// It may stand on `to` now. An owner that the book does not know is written there as one that may
// have a node, so that it can ask again, and its node goes with its time. One that it knows keeps
// what the book says until it asks again: sweep() removes the node when the book has let go.
void lease_core::suspect(const lock_name& name, const standing& mine,
                         const ordered::queue_entry& changed, const session_ptr& to) {
    const place at{name.value(), changed.owner};
    if (!book_.find(at)) {
        standing perhaps{.entry = changed, .on = to, .ttl = mine.ttl};
        perhaps.entry.key.clear();
        perhaps.ends = now() + granted_for(perhaps);
        put(at, std::move(perhaps));
        return;
    }
    sweep_later({to, at});
}

auto lease_core::lengthen(core_ptr self, lock_name name, standing mine, duration ttl,
                          time_point give_up) -> later<std::optional<standing>> {
    mine.ttl = ttl;
    if (zookeeper_client::timeout_for(ttl) <= mine.on->asked_timeout()) {
        std::optional<standing> same(std::move(mine));
        co_return same;
    }
    result<session_ptr> to = self->client_.session_for(ttl);
    if (!to) co_return std::unexpected(std::move(to.error()));
    ordered::queue_entry changed = mine.entry;
    later<std::optional<standing>> moving =
        move(self, name, std::move(mine), std::move(changed), std::move(*to), give_up);
    result<std::optional<standing>> moved = co_await moving;
    co_return moved;
}

}  // namespace holdfast::zookeeper

// SPDX-License-Identifier: Apache-2.0
//
// What a holder asks for: to renew, to end, to pass its lease to another owner. A renewal asks the
// leader whether the session lives, and the server whether the node is there: an operator may have
// deleted it.
#include "driver/zookeeper/lease_core.hpp"
#include "lease/ordered/entry_text.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::zookeeper {
namespace {

bool same_node(const standing& a, const standing& b) {
    return a.on == b.on && a.entry.key == b.entry.key;
}

}  // namespace

// The owner is not there (any more). If it was evicted, it is told why.
auto lease_core::lost(core_ptr self, lock_name name, owner_token owner, time_point give_up)
    -> reply {
    result<session_ptr> on = self->client_.some_session();
    if (!on) co_return fail(errc::unavailable, std::move(on.error().detail));
    const std::string reason =
        self->names_.evictions(name.value()) + "/" + std::string(owner.value());
    pending<answered> asking =
        zookeeper_session::call(*on, {.what = request::kind::get, .path = reason}, give_up);
    answered said = co_await asking;
    if (said.is != outcome::done && said.is != outcome::no_node) {
        co_return std::unexpected(self->read_problem(said));
    }
    answer::lost out;
    if (said.is == outcome::done) out.reason = std::move(said.text);
    co_return lease_reply(std::move(out));
}

// For an owner that this store did not put there, or that was handed the name without our noticing.
// An entry of another session is moved to one of ours: nobody else can keep it.
auto lease_core::find_holder(core_ptr self, lock_name name, owner_token owner, duration ttl,
                             time_point give_up) -> later<std::optional<standing>> {
    const place at = standing_book::of(name, owner);
    std::optional<standing> known = self->book_.find(at);
    result<session_ptr> on =
        known && !known->on->is_over() ? known->on : self->client_.session_for(ttl);
    if (!on) co_return std::unexpected(std::move(on.error()));
    const time_point since = self->now();
    later<ordered::queue_order> reading = read_queue(self, *on, name, give_up);
    result<ordered::queue_order> queue = co_await reading;
    if (!queue) co_return std::unexpected(std::move(queue.error()));
    const ordered::queue_entry* const there = queue->find(owner);
    if (there == nullptr || !queue->holds(*there)) co_return std::nullopt;
    std::int64_t session = 0;
    later<ordered::queue_entry> asking = with_data(self, *on, name, *there, give_up, &session);
    result<ordered::queue_entry> whole = co_await asking;
    if (!whole) co_return std::unexpected(std::move(whole.error()));
    if (session == 0) co_return std::nullopt;
    standing mine{.entry = std::move(*whole), .on = *on, .ttl = ttl, .holds = true};
    if (session != (*on)->id()) {
        ordered::queue_entry same = mine.entry;
        later<std::optional<standing>> moving =
            move(self, name, std::move(mine), std::move(same), *on, give_up);
        result<std::optional<standing>> moved = co_await moving;
        if (!moved || !*moved) co_return moved;
        mine = std::move(**moved);
    }
    mine.ends = since + granted_for(mine);
    self->put(at, mine);
    co_return mine;
}

auto lease_core::is_there(core_ptr self, lock_name name, standing mine, time_point give_up)
    -> later<bool> {
    const std::string path = self->path_of(name, mine.entry.key);
    for (;;) {
        pending<bool> connecting = mine.on->connected(give_up);
        const bool ready = co_await connecting;
        if (!ready && mine.on->is_over()) co_return false;
        if (!ready) co_return std::unexpected(self->read_problem(mine.on->no_connection()));
        pending<answered> syncing =
            mine.on->send({.what = request::kind::sync, .path = self->names_.root()}, give_up);
        pending<answered> looking =
            mine.on->send({.what = request::kind::get, .path = path}, give_up);
        answered synced = co_await syncing;
        answered seen = co_await looking;
        const bool gone = synced.is == outcome::session_over || seen.is == outcome::session_over ||
                          seen.is == outcome::no_node;
        if (gone) co_return false;
        if (synced.is == outcome::done && seen.is == outcome::done) {
            co_return seen.stat.session == mine.on->id();
        }
        const answered& bad = synced.is == outcome::done ? seen : synced;
        if (bad.is != outcome::no_connection) {
            co_return std::unexpected(self->read_problem(bad));
        }
    }
}

auto lease_core::write_entry(core_ptr self, lock_name name, standing mine, time_point give_up)
    -> later<bool> {
    ordered::queue_entry entry =
        mine.entry;  // a node that was not moved has its fence from ZooKeeper
    pending<answered> writing = zookeeper_session::call(mine.on,
                                                        {.what = request::kind::write,
                                                         .path = self->path_of(name, entry.key),
                                                         .data = ordered::entry_text(entry)},
                                                        give_up);
    answered written = co_await writing;
    if (written.is == outcome::done) co_return true;
    if (written.is == outcome::no_node || written.is == outcome::session_over) co_return false;
    co_return std::unexpected(self->read_problem(written));
}

auto lease_core::renew(core_ptr self, ask::renew asked, time_point give_up) -> reply {
    const place at = standing_book::of(asked.name, asked.owner);
    const time_point since = self->now();
    std::optional<standing> mine = self->book_.find(at);
    bool held = false;
    if (mine && mine->holds && !mine->entry.key.empty()) {
        later<bool> looking = is_there(self, asked.name, *mine, give_up);
        const result<bool> there = co_await looking;
        if (!there) co_return std::unexpected(there.error());
        held = *there;
    } else {
        later<std::optional<standing>> finding =
            find_holder(self, asked.name, asked.owner, asked.ttl, give_up);
        result<std::optional<standing>> found = co_await finding;
        if (!found) co_return std::unexpected(std::move(found.error()));
        mine = std::move(*found);
        held = mine.has_value();
    }
    const std::optional<standing> before = mine;
    const bool new_note = held && asked.note.is_set() && asked.note.value() != mine->entry.note;
    if (held && (new_note || asked.ttl != mine->entry.ttl)) {
        if (new_note) mine->entry.note = asked.note.value();
        mine->entry.ttl = asked.ttl;
        later<bool> writing = write_entry(self, asked.name, *mine, give_up);
        const result<bool> written = co_await writing;
        if (!written) co_return std::unexpected(written.error());
        held = *written;
    }
    if (held) {
        later<std::optional<standing>> lengthening =
            lengthen(self, asked.name, *mine, asked.ttl, give_up);
        result<std::optional<standing>> longer = co_await lengthening;
        if (!longer) co_return fail(errc::unavailable, std::move(longer.error().detail));
        mine = std::move(*longer);
        held = mine.has_value();
    }
    // One whose time was over meanwhile is not in the book: its node is being removed.
    bool stale = false;
    held = held && self->book_.update(at, [&](standing& one) {
        stale = !same_node(one, *before) && !same_node(one, *mine);
        if (stale) return;
        mine->ends = std::max(one.ends, since + granted_for(*mine));
        mine->holds = true;
        one = *mine;
    });
    if (held && !stale) co_return lease_reply(answer::renewed{.ttl = granted_for(*mine)});
    reply telling = lost(self, asked.name, asked.owner, give_up);
    result<lease_reply> told = co_await telling;
    const std::optional<standing> now_there = self->book_.find(at);
    if (told && before && now_there && !same_node(*now_there, *before)) {
        // Another request of this owner has moved it meanwhile.
        reply again = renew(self, std::move(asked), give_up);
        result<lease_reply> answered_again = co_await again;
        co_return answered_again;
    }
    if (!told) co_return told;
    if (const auto gone = self->book_.take(at)) self->forget(at, *gone);
    co_return told;
}

// Whether there was an entry to remove.
auto lease_core::end(core_ptr self, lock_name name, owner_token owner, fencing_token only,
                     time_point give_up) -> later<bool> {
    const place at = standing_book::of(name, owner);
    std::optional<standing> mine = self->book_.find(at);
    if (mine && mine->on->is_over()) {
        self->book_.take(at);
        mine.reset();
    }
    if (!mine || mine->entry.key.empty()) {
        result<session_ptr> on = mine ? mine->on : self->client_.some_session();
        if (!on) co_return std::unexpected(std::move(on.error()));
        later<ordered::queue_order> reading = read_queue(self, *on, name, give_up);
        result<ordered::queue_order> queue = co_await reading;
        if (!queue) co_return std::unexpected(std::move(queue.error()));
        const ordered::queue_entry* const there = queue->find(owner);
        if (there == nullptr) {
            self->book_.take(at);
            co_return false;
        }
        later<ordered::queue_entry> asking = with_data(self, *on, name, *there, give_up);
        result<ordered::queue_entry> whole = co_await asking;
        if (!whole) co_return std::unexpected(std::move(whole.error()));
        mine = standing{.entry = std::move(*whole), .on = *on};
    }
    if (only.value != 0 && mine->entry.fence() > only) co_return false;
    mine->on->unwatch(mine->watch);
    pending<answered> removing = zookeeper_session::call(
        mine->on, {.what = request::kind::remove, .path = self->path_of(name, mine->entry.key)},
        give_up);
    answered removed = co_await removing;
    self->book_.take(at);
    if (removed.is == outcome::done) co_return true;
    if (removed.is == outcome::no_node) {
        self->forget(at, *mine);  // it may have been moved without our knowing
        co_return removed.doubt;  // an attempt of ours removed it
    }
    if (removed.is == outcome::session_over) co_return removed.doubt;
    self->forget(at, *mine);
    co_return std::unexpected(self->problem(removed));
}

auto lease_core::release(core_ptr self, ask::release asked, time_point give_up) -> reply {
    later<bool> ending = end(self, asked.name, asked.owner, asked.only, give_up);
    result<bool> ended = co_await ending;
    if (!ended) co_return std::unexpected(std::move(ended.error()));
    if (*ended) co_return lease_reply(answer::released{});
    reply telling = lost(self, asked.name, asked.owner, give_up);
    result<lease_reply> told = co_await telling;
    co_return told;
}

auto lease_core::leave(core_ptr self, ask::leave asked, time_point give_up) -> reply {
    later<bool> ending = end(self, asked.name, asked.owner, {}, give_up);
    result<bool> ended = co_await ending;
    if (!ended) co_return std::unexpected(std::move(ended.error()));
    co_return lease_reply(answer::released{.found = *ended});
}

// The entry stays where it is, with another owner in it, on a session of the new one.
auto lease_core::adopt(core_ptr self, lease_adoption asked, time_point give_up) -> reply {
    const place at = standing_book::of(asked.name, asked.to);
    const time_point since = self->now();
    result<session_ptr> on = self->client_.session_for(asked.ttl);
    if (!on) co_return std::unexpected(std::move(on.error()));
    later<ordered::queue_order> reading = read_queue(self, *on, asked.name, give_up);
    result<ordered::queue_order> queue = co_await reading;
    if (!queue) co_return std::unexpected(std::move(queue.error()));
    const ordered::queue_entry* there = queue->find(asked.from);
    if (there == nullptr) there = queue->find(asked.to);
    if (there == nullptr || !queue->holds(*there)) {
        reply telling = lost(self, asked.name, asked.from, give_up);
        result<lease_reply> told = co_await telling;
        co_return told;
    }
    later<ordered::queue_entry> asking = with_data(self, *on, asked.name, *there, give_up);
    result<ordered::queue_entry> whole = co_await asking;
    if (!whole) co_return std::unexpected(std::move(whole.error()));
    standing mine{.entry = *whole, .on = *on, .ttl = asked.ttl, .holds = true};
    ordered::queue_entry changed = std::move(*whole);
    changed.owner = asked.to.value();
    {
        const std::scoped_lock guard(self->mutex_);
        changed.who = self->who_;
    }
    later<std::optional<standing>> moving =
        move(self, asked.name, std::move(mine), std::move(changed), *on, give_up);
    result<std::optional<standing>> moved = co_await moving;
    if (!moved) co_return std::unexpected(std::move(moved.error()));
    if (!*moved) {
        reply telling = lost(self, asked.name, asked.from, give_up);
        result<lease_reply> told = co_await telling;
        co_return told;
    }
    (*moved)->ends = since + granted_for(**moved);
    const duration granted = granted_for(**moved);
    self->put(at, std::move(**moved));
    co_return lease_reply(answer::renewed{.ttl = granted});
}

}  // namespace holdfast::zookeeper

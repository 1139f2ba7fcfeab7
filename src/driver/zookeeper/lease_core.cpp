// SPDX-License-Identifier: Apache-2.0
//
// What all requests have in common: the nodes of a name, what is removed when nobody renewed it,
// what happens when a session is over.
#include "driver/zookeeper/lease_core.hpp"

#include "driver/zookeeper/zookeeper_errors.hpp"
#include "lease/ordered/entry_text.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

constexpr duration sweep_every = 500ms;
constexpr duration swept_within = 3s;

/// An entry that is moved keeps its number. No key: it may be any.
bool same_place(const standing& known, const ordered::queue_entry& entry) {
    return known.entry.key.empty() ||
           entry_names::number_text(known.entry.key) == entry_names::number_text(entry.key);
}

}  // namespace

lease_core::lease_core(zookeeper_options options, clock& time)
    : client_(options, time), names_(options.root, options.names) {}

void lease_core::start() {
    client_.on_upkeep([this](time_point now) { return upkeep(now); });
    client_.on_event([this](const session_ptr& from, session_event event) { hear(from, event); });
}

void lease_core::on_push(lease_store::push_handler handler) {
    const std::scoped_lock guard(mutex_);
    push_ = std::move(handler);
}

void lease_core::introduce(const client_label& who) {
    const std::scoped_lock guard(mutex_);
    who_ = who;
}

void lease_core::tell(const lease_push& push) {
    lease_store::push_handler handler;
    {
        const std::scoped_lock guard(mutex_);
        handler = push_;
    }
    if (handler) handler(push);
}

error lease_core::problem(const answered& said) const {
    return to_error(said, client_.servers());
}

error lease_core::read_problem(const answered& said) const {
    return read_error(said, client_.servers());
}

std::string lease_core::path_of(const lock_name& name, std::string_view key) const {
    return names_.directory(name.value()) + "/" + std::string(key);
}

duration lease_core::granted_for(const standing& mine) {
    return std::min(mine.ttl, mine.on->safe_time());
}

void lease_core::put(const place& at, standing what) {
    const time_point ends = what.ends;
    book_.put(at, std::move(what));
    client_.wake_at(ends);
}

// `sync` and the read go out together: the read is answered after it, by the same server.
auto lease_core::read_queue(core_ptr self, session_ptr on, lock_name name, time_point give_up,
                            std::uintptr_t watch) -> later<ordered::queue_order> {
    const std::string directory = self->names_.directory(name.value());
    for (;;) {
        pending<bool> connecting = on->connected(give_up);
        const bool ready = co_await connecting;
        if (!ready) co_return std::unexpected(self->read_problem(on->no_connection()));
        pending<answered> syncing =
            on->send({.what = request::kind::sync, .path = self->names_.root()}, give_up);
        pending<answered> listing =
            on->send({.what = request::kind::children, .path = directory, .watch = watch}, give_up);
        answered synced = co_await syncing;
        answered listed = co_await listing;
        const bool both = (synced.is == outcome::done || synced.is == outcome::no_node) &&
                          (listed.is == outcome::done || listed.is == outcome::no_node);
        if (both) co_return ordered::queue_order(entry_names::read(listed.names));
        const bool dropped =
            synced.is == outcome::no_connection || listed.is == outcome::no_connection;
        if (!dropped || self->now() >= give_up) {
            const bool first = synced.is != outcome::done && synced.is != outcome::no_node;
            co_return std::unexpected(self->read_problem(first ? synced : listed));
        }
    }
}

// Parents are made as they are missing. True: it is there.
auto lease_core::make_directory(core_ptr self, session_ptr on, std::string path, time_point give_up)
    -> later<bool> {
    pending<answered> making = zookeeper_session::call(
        on, {.what = request::kind::make, .path = path, .as = node_kind::container}, give_up);
    answered made = co_await making;
    if (made.is == outcome::done || made.is == outcome::exists) co_return true;
    if (made.is != outcome::no_node) co_return std::unexpected(self->read_problem(made));
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
        pending<answered> asking = zookeeper_session::call(on,
                                                           {.what = request::kind::make,
                                                            .path = path.substr(0, slash),
                                                            .as = node_kind::persistent},
                                                           give_up);
        answered said = co_await asking;
        // One may see parents that it may not write to.
        const bool there =
            said.is == outcome::done || said.is == outcome::exists || said.is == outcome::denied;
        if (!there) co_return std::unexpected(self->read_problem(said));
    }
    pending<answered> again = zookeeper_session::call(
        on, {.what = request::kind::make, .path = path, .as = node_kind::container}, give_up);
    answered said = co_await again;
    if (said.is == outcome::done || said.is == outcome::exists) co_return true;
    co_return std::unexpected(self->read_problem(said));
}

// An entry with all that is stored with it; one that is gone is as it was. `session`: whose it is.
auto lease_core::with_data(core_ptr self, session_ptr on, lock_name name,
                           ordered::queue_entry entry, time_point give_up, std::int64_t* session)
    -> later<ordered::queue_entry> {
    pending<answered> asking = zookeeper_session::call(
        on, {.what = request::kind::get, .path = self->path_of(name, entry.key)}, give_up);
    answered said = co_await asking;
    if (said.is == outcome::no_node) co_return entry;
    if (said.is != outcome::done) co_return std::unexpected(self->read_problem(said));
    if (!entry.is_foreign()) ordered::read_entry_text(said.text, entry);
    if (entry.made == 0) entry.made = said.stat.made;
    if (session != nullptr) *session = said.stat.session;
    co_return entry;
}

ordered::queue_entry lease_core::new_entry(const ask::acquire& asked) const {
    const std::scoped_lock guard(mutex_);
    return {.key = {},
            .owner = std::string(asked.owner.value()),
            .mode = asked.mode,
            .who = who_,
            .since = client_.time().wall(),
            .note = std::string(asked.note.value()),
            .ttl = asked.ttl};
}

// What nobody renewed, and what could not be removed when it should have been.
time_point lease_core::upkeep(time_point now) {
    for (auto& [at, gone] : book_.take_if([&](const standing& one) { return one.ends <= now; })) {
        forget(at, gone);
    }
    std::vector<orphan> due;
    time_point next = book_.first_end();
    {
        const std::scoped_lock guard(mutex_);
        if (orphans_due_ <= now) {
            due.swap(orphans_);
            orphans_due_ = time_point::max();
        }
        next = std::min(next, orphans_due_);
    }
    if (const auto self = weak_from_this().lock()) {
        for (orphan& one : due) sweep(self, std::move(one));
    }
    return next;
}

/// Removes the node of one that is not in the book any more, now or as soon as it can be done.
void lease_core::forget(const place& at, const standing& gone) {
    gone.on->unwatch(gone.watch);
    if (gone.on->is_over()) return;
    const std::scoped_lock guard(mutex_);
    orphans_.push_back({gone.on, at});
    orphans_due_ = time_point::min();
    client_.wake_at(time_point::min());
}

auto lease_core::sweep(core_ptr self, orphan one) -> pending<bool> {
    const time_point give_up = self->now() + swept_within;
    const auto name = lock_name::make(one.at.first);
    if (!name) co_return false;
    later<ordered::queue_order> reading = read_queue(self, one.on, *name, give_up);
    result<ordered::queue_order> queue = co_await reading;
    bool clean = queue.has_value();
    if (queue) {
        for (const ordered::queue_entry& entry : queue->entries()) {
            if (entry.owner != one.at.second) continue;
            std::int64_t session = 0;
            later<ordered::queue_entry> asking =
                with_data(self, one.on, *name, entry, give_up, &session);
            result<ordered::queue_entry> asked = co_await asking;
            clean = clean && asked;
            // One that another store has moved to its own session is not meant.
            if (!asked || session != one.on->id()) continue;
            // Nor is an owner that has come again since. But one that was perhaps moved is looked
            // at until the book knows it where it is, or not at all: its owner may rely on it.
            if (const auto known = self->book_.find(one.at); known && same_place(*known, entry)) {
                clean = clean && known->on == one.on && known->entry.key == entry.key;
                continue;
            }
            pending<answered> removing = zookeeper_session::call(
                one.on, {.what = request::kind::remove, .path = self->path_of(*name, entry.key)},
                give_up);
            answered removed = co_await removing;
            clean = clean && (removed.is == outcome::done || removed.is == outcome::no_node);
        }
    }
    if (clean || one.on->is_over()) co_return true;
    self->sweep_later(std::move(one));
    co_return false;
}

void lease_core::sweep_later(orphan one) {
    const std::scoped_lock guard(mutex_);
    orphans_.push_back(std::move(one));
    orphans_due_ = std::min(orphans_due_, now() + sweep_every);
    client_.wake_at(orphans_due_);
}

// Those that wait are told to come again. Those that hold learn it when they renew; by their own
// clocks they have lost it before.
void lease_core::hear(const session_ptr& from, session_event event) {
    if (event == session_event::suspended) return;
    if (event == session_event::connected) {
        const std::scoped_lock guard(mutex_);
        if (orphans_.empty()) return;
        orphans_due_ = time_point::min();
        client_.wake_at(time_point::min());
        return;
    }
    {
        const std::scoped_lock guard(mutex_);
        watched_permits_.clear();
        std::erase_if(orphans_, [&](const orphan& one) { return one.on == from; });
    }
    auto gone = book_.take_if([&](const standing& one) { return one.on == from; });
    for (const auto& [at, one] : gone) {
        const auto owner = owner_token::parse(at.second);
        if (!one.holds && owner) tell(handed_off{*owner, {}, duration::zero()});
    }
    tell(poll_again{});
}

void lease_core::stop() {
    client_.close();
}

void lease_core::close() {
    const time_point until = now() + 100ms;
    std::vector<pending<answered>> leaving;
    for (auto& [at, one] : book_.take_if([](const standing& each) { return !each.holds; })) {
        const auto name = lock_name::make(at.first);
        if (!name || one.entry.key.empty()) continue;
        leaving.push_back(one.on->send(
            {.what = request::kind::remove, .path = path_of(*name, one.entry.key)}, until));
    }
    time_point reasons = time_point::min();
    {
        const std::scoped_lock guard(mutex_);
        push_ = nullptr;
        reasons = reasons_end_;
    }
    const bool stays = book_.has_holders() || reasons > now();
    if (stays) {
        for (const auto& one : leaving) static_cast<void>(one.wait());
        std::thread([self = shared_from_this(), reasons] {
            std::mutex mutex;
            std::condition_variable never;
            std::unique_lock held(mutex);
            while (self->book_.has_holders() || reasons > self->now()) {
                self->client_.time().wait_until(held, never, self->now() + 200ms);
            }
            self->stop();
        }).detach();
        return;
    }
    stop();
}

}  // namespace holdfast::zookeeper

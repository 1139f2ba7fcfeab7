// SPDX-License-Identifier: Apache-2.0
//
// How a waiter learns that it is its turn. It watches the node that it waits for, and nothing else,
// so that one that leaves wakes one other. For permits any node before it may make room: then the
// name's node is watched, once for all waiters of this store.
//
// The library sets the watches again when it has connected to another server, and hears of what
// happened meanwhile. A watch that is lost all the same costs a second: each waiter polls.
#include "driver/zookeeper/lease_core.hpp"

#include <utility>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

// A check that is not answered by then is left to the waiter's next poll.
constexpr duration turn_checked_within = 3s;

}  // namespace

auto lease_core::watch_turn(core_ptr self, place at, standing mine, ordered::queue_order queue)
    -> pending<bool> {
    const ordered::queue_entry* there = nullptr;
    for (const ordered::queue_entry& one : queue.entries()) {
        if (one.key == mine.entry.key) there = &one;
    }
    const auto name = lock_name::make(at.first);
    if (there == nullptr || !name) co_return false;
    const ordered::queue_entry* const blocker = queue.blocker_of(*there);
    if (blocker == nullptr) {
        {
            const std::scoped_lock guard(self->mutex_);
            if (!self->watched_permits_.insert(at.first).second) co_return true;
        }
        pending<bool> checking = check_permits(self, at.first, mine.on);
        const bool checked = co_await checking;
        co_return checked;
    }
    const std::string key = blocker->key;
    if (mine.watch != 0 && mine.blocker == key) co_return true;
    const std::weak_ptr<lease_core> weak = self;
    const std::uintptr_t watch = mine.on->watch([weak, at] {
        if (const auto core = weak.lock()) check_turn(core, at);
    });
    const bool known = self->book_.update(at, [&](standing& one) {
        one.on->unwatch(one.watch);
        one.watch = watch;
        one.blocker = key;
    });
    if (!known) {
        mine.on->unwatch(watch);
        co_return false;
    }
    pending<answered> watching = zookeeper_session::call(
        mine.on, {.what = request::kind::get, .path = self->path_of(*name, key), .watch = watch},
        self->now() + turn_checked_within);
    answered said = co_await watching;
    if (said.is == outcome::done) co_return true;
    mine.on->unwatch(watch);
    self->book_.update(at, [&](standing& one) {
        if (one.watch == watch) one.watch = 0;
    });
    if (said.is == outcome::no_node) check_turn(self, at);  // it went in between
    co_return false;
}

// The blocker is gone, or has changed.
auto lease_core::check_turn(core_ptr self, place at) -> pending<bool> {
    std::optional<standing> mine = self->book_.find(at);
    const auto name = lock_name::make(at.first);
    if (!mine || mine->holds || mine->entry.key.empty() || !name) co_return false;
    const time_point since = self->now();
    self->book_.update(at, [](standing& one) { one.watch = 0; });
    mine->watch = 0;
    later<ordered::queue_order> reading =
        read_queue(self, mine->on, *name, since + turn_checked_within);
    result<ordered::queue_order> queue = co_await reading;
    if (!queue) co_return false;
    self->decide_turn(at, *queue, since);
    const std::optional<standing> after = self->book_.find(at);
    if (!after || after->holds) co_return true;
    watch_turn(self, at, *after, std::move(*queue));
    co_return true;
}

// Something has changed below the name's node.
auto lease_core::check_permits(core_ptr self, std::string name, session_ptr on) -> pending<bool> {
    const auto checked = lock_name::make(name);
    const std::weak_ptr<lease_core> weak = self;
    for (;;) {
        const time_point since = self->now();
        const std::uintptr_t watch = on->watch([weak, name, on] {
            if (const auto core = weak.lock()) check_permits(core, name, on);
        });
        later<ordered::queue_order> reading =
            read_queue(self, on, *checked, since + turn_checked_within, watch);
        result<ordered::queue_order> queue = co_await reading;
        if (queue) {
            for (const place& at : self->book_.permit_waiters(name)) {
                self->decide_turn(at, *queue, since);
            }
        }
        if (queue && !self->book_.permit_waiters(name).empty()) co_return true;
        on->unwatch(watch);
        const std::scoped_lock guard(self->mutex_);
        self->watched_permits_.erase(name);
        // One that came just now has relied on this watch.
        if (!queue || self->book_.permit_waiters(name).empty()) co_return false;
        self->watched_permits_.insert(name);
    }
}

void lease_core::decide_turn(const place& at, const ordered::queue_order& queue, time_point since) {
    const auto owner = owner_token::parse(at.second);
    if (!owner) return;
    handed_off push{*owner, {}, duration::zero()};
    bool first = false;
    book_.update(at, [&](standing& one) {
        if (one.holds || one.entry.key.empty()) return;
        for (const ordered::queue_entry& entry : queue.entries()) {
            if (entry.key != one.entry.key || !queue.holds(entry)) continue;
            first = true;
            one.holds = true;
            one.ends = since + granted_for(one);
            push.fence = one.entry.fence();
            push.ttl = granted_for(one);
        }
    });
    if (!first) return;
    client_.wake_at(since + push.ttl);
    tell(push);
}

}  // namespace holdfast::zookeeper

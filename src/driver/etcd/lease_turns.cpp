// SPDX-License-Identifier: Apache-2.0
//
// How a waiter learns that it is its turn. It watches the entry that it waits for, and nothing
// else, so that one that leaves wakes one other. When that entry is gone it reads the queue, which
// proves that its own is still there, and tells the waiter that it holds the name: for as long as
// its lease of 3 s lasts from its last poll.
//
// A watch that has ended, by a lost connection or a compaction, is not made again here: the waiter
// is told to poll, and a poll that finds it still waiting watches anew.
#include "driver/etcd/lease_core.hpp"
#include "lease/ordered/entry_text.hpp"

#include <utility>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

// A check that is not answered by then is left to the waiter's next poll.
constexpr duration turn_checked_within = 3s;

}  // namespace

void lease_core::on_push(lease_store::push_handler handler) {
    const std::scoped_lock guard(mutex_);
    push_ = std::move(handler);
}

void lease_core::introduce(const client_label& who) {
    const std::scoped_lock guard(mutex_);
    who_ = who;
}

void lease_core::tell(const handed_off& push) {
    lease_store::push_handler handler;
    {
        const std::scoped_lock guard(mutex_);
        handler = push_;
    }
    if (handler) handler(push);
}

// Requires: the book has it.
void lease_core::watch_turn(const place& at, const seen_queue& seen,
                            const ordered::queue_entry& mine) {
    const ordered::queue_entry* const blocker = seen.queue.blocker_of(mine);
    turn_watch wanted;
    watch_plan plan;
    plan.from = seen.revision + 1;
    if (blocker != nullptr) {
        wanted.blocker = plan.key = blocker->key;
        // A writer that becomes a reader makes room, too.
        plan.puts = mine.mode.type == lease_mode::kind::shared;
    } else {
        const ordered::key_range all = keys_.queue(at.first);
        plan.key = all.first;
        plan.range_end = all.end;
        for (const ordered::queue_entry& one : seen.queue.entries()) {
            if (one.position < mine.position) wanted.ahead.emplace(one.key, one.mode.permits);
        }
    }
    std::int64_t old = 0;
    bool same = false;
    book_.update(at, [&](standing& one) {
        same = one.watch.id != 0 && one.watch.blocker == wanted.blocker &&
               one.watch.ahead == wanted.ahead;
        if (same) return;
        old = std::exchange(one.watch.id, 0);
        one.watch.blocker = wanted.blocker;
        one.watch.ahead = std::move(wanted.ahead);
    });
    if (same) return;
    client_->unwatch(old);
    const std::int64_t id =
        client_->watch(std::move(plan), [weak = weak_from_this(), at](const watch_event& event) {
            if (const auto self = weak.lock()) self->hear(at, event);
        });
    const bool there = book_.update(at, [&](standing& one) { one.watch.id = id; });
    if (!there) client_->unwatch(id);
}

void lease_core::hear(const place& at, const watch_event& event) {
    bool over = false;
    bool check = false;
    book_.update(at, [&](standing& one) {
        if (one.holds) return;
        if (event.what == watch_event::kind::over) {
            one.watch = {};
            over = true;
            return;
        }
        if (event.what == watch_event::kind::put) {
            ordered::queue_entry said;
            ordered::read_entry_text(event.value, said);
            check = event.key == one.watch.blocker && said.mode.type == lease_mode::kind::shared;
            return;
        }
        if (!one.watch.blocker.empty()) {
            check = event.key == one.watch.blocker;
            return;
        }
        if (one.watch.ahead.erase(event.key) == 0) return;
        std::uint64_t taken = one.entry.mode.permits;
        for (const auto& [key, permits] : one.watch.ahead) taken += permits;
        check = taken <= one.entry.mode.limit;
    });
    if (check) check_turn(shared_from_this(), at);
    if (!over) return;
    if (const auto owner = owner_token::parse(at.second)) tell({*owner, {}, duration::zero()});
}

auto lease_core::check_turn(core_ptr self, place at) -> pending<bool> {
    const auto name = lock_name::make(at.first);
    const auto owner = owner_token::parse(at.second);
    if (!name || !owner) co_return false;
    const time_point give_up = self->now() + turn_checked_within;
    later<seen_queue> reading = read_queue(self, *name, give_up);
    result<seen_queue> seen = co_await reading;
    const ordered::queue_entry* const there = seen ? seen->queue.find(*owner) : nullptr;
    if (there != nullptr && !seen->queue.holds(*there)) {
        self->watch_turn(at, *seen, *there);
        co_return false;
    }
    // One that has not polled for so long that it is gone is not woken: its next poll finds out.
    if (seen && there == nullptr) co_return false;
    handed_off push{*owner, {}, duration::zero()};
    std::int64_t watch = 0;
    bool first = false;
    self->book_.update(at, [&](standing& one) {
        watch = std::exchange(one.watch.id, 0);
        if (one.holds) return;
        first = true;
        if (there == nullptr || there->position != one.entry.position) return;  // poll now
        one.entry = *there;
        one.holds = true;
        push.fence = there->fence();
        push.ttl = std::chrono::seconds(one.lease.ttl_s);
    });
    self->client_->unwatch(watch);
    if (first) self->tell(push);
    co_return first;
}

}  // namespace holdfast::etcd

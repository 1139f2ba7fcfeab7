// SPDX-License-Identifier: Apache-2.0
//
// What a holder asks for: to renew, to end, to pass its lease to another owner; and what others may
// do to it. Renewing the lease is not enough to hold the name: an operator may have deleted the
// entry. So each renewal also asks whether the entry is still as it was written.
#include "driver/etcd/etcd_requests.hpp"
#include "driver/etcd/lease_core.hpp"
#include "lease/ordered/entry_text.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

constexpr int most_tries = 4;

}  // namespace

lease_core::lease_core(std::shared_ptr<etcd_client> client)
    : client_(std::move(client)), keys_(client_->options().root) {}

// The owner is not there (any more). If it was evicted, it is told why.
auto lease_core::lost(core_ptr self, lock_name name, owner_token owner, time_point give_up)
    -> reply {
    wire::RangeRequest range;
    range.set_key(self->keys_.eviction(name.value(), owner.value()));
    pending<called<wire::RangeResponse>> asking = self->client_->range(std::move(range), give_up);
    called<wire::RangeResponse> said = co_await asking;
    if (!said.value) co_return fail(errc::unavailable, std::move(said.value.error().detail));
    answer::lost out;
    if (said.value->kvs_size() > 0) out.reason = said.value->kvs(0).value();
    co_return lease_reply(std::move(out));
}

// From the queue itself, for an owner that this store did not put there, or that was handed the
// name without our noticing.
auto lease_core::find_holder(core_ptr self, lock_name name, owner_token owner, time_point give_up)
    -> later<std::optional<standing>> {
    later<seen_queue> reading = read_queue(self, name, give_up);
    result<seen_queue> seen = co_await reading;
    if (!seen) co_return std::unexpected(std::move(seen.error()));
    const ordered::queue_entry* there = seen->queue.find(owner);
    if (there == nullptr || !seen->queue.holds(*there)) co_return std::nullopt;
    std::optional<standing> found = self->book_.find(standing_book::of(name, owner));
    if (!found) found = standing{.entry = {}, .doubtful = true};
    found->entry = *there;
    found->lease.id = there->lease;
    found->holds = true;
    co_return found;
}

auto lease_core::keep(core_ptr self, standing mine, bool seen_now, time_point give_up)
    -> later<std::optional<standing>> {
    const time_point since = self->now();
    pending<called<std::int64_t>> renewing = self->client_->keep_alive(mine.lease.id, give_up);
    if (!seen_now) {
        wire::TxnRequest look;
        *look.add_compare() = unchanged(mine.entry.key, mine.entry.version);
        *look.add_failure() = get(mine.entry.key);
        pending<called<wire::TxnResponse>> asking = self->client_->txn(std::move(look), give_up);
        called<wire::TxnResponse> said = co_await asking;
        if (!said.value) co_return fail(errc::unavailable, said.value.error().detail);
        if (!said.value->succeeded()) {
            const auto& stored = said.value->responses(0).response_range();
            if (stored.kvs_size() == 0) co_return std::nullopt;
            const ordered::queue_entry there = entry_of(stored.kvs(0));
            if (there.owner != mine.entry.owner || there.position != mine.entry.position) {
                co_return std::nullopt;
            }
            mine.entry = there;
            if (there.lease != mine.lease.id) {  // written by a request of ours that was in doubt
                mine.lease.id = there.lease;
                renewing = self->client_->keep_alive(there.lease, give_up);
            }
        }
    }
    called<std::int64_t> kept = co_await renewing;
    if (!kept.value) co_return fail(errc::unavailable, std::move(kept.value.error().detail));
    if (*kept.value <= 0) co_return std::nullopt;
    mine.lease.ttl_s = *kept.value;
    mine.lease.ends = since + std::chrono::seconds(*kept.value);
    co_return std::move(mine);
}

auto lease_core::renew(core_ptr self, ask::renew asked, time_point give_up) -> reply {
    const place at = standing_book::of(asked.name, asked.owner);
    const time_point since = self->now();
    std::optional<standing> mine = self->book_.find(at);
    const std::optional<standing> known = mine;
    const bool in_time = mine && mine->holds && since < mine->lease.ends;
    if (!in_time) {
        later<std::optional<standing>> finding =
            find_holder(self, asked.name, asked.owner, give_up);
        result<std::optional<standing>> found = co_await finding;
        if (!found) co_return std::unexpected(std::move(found.error()));
        mine = std::move(*found);
    }
    if (mine) {
        later<std::optional<standing>> keeping = keep(self, *mine, !in_time, give_up);
        result<std::optional<standing>> kept = co_await keeping;
        if (!kept) co_return std::unexpected(std::move(kept.error()));
        mine = std::move(*kept);
    }
    if (mine) {
        const std::int64_t wanted = whole_seconds(asked.ttl);
        const bool new_note = asked.note.is_set() && asked.note.value() != mine->entry.note;
        if (new_note) mine->entry.note = asked.note.value();
        if (new_note || wanted > mine->lease.ttl_s) {
            later<std::optional<standing>> writing =
                rewrite(self, asked.name, *mine, wanted, give_up);
            result<std::optional<standing>> written = co_await writing;
            if (!written) co_return fail(errc::unavailable, written.error().detail);
            mine = std::move(*written);
        }
    }
    if (mine) {
        // Not over what another request of this owner has stored meanwhile.
        const bool there = self->book_.update(at, [&](standing& one) {
            if (!known || one.lease.id != known->lease.id) return;
            if (standing_book::is_newer(one, mine->entry.version, known->entry.version)) return;
            one.entry = mine->entry;
            one.lease = mine->lease;
            one.holds = true;
            one.doubtful = one.doubtful || mine->doubtful;
        });
        if (!there && !known) self->book_.put(at, *mine, since);
        co_return lease_reply(answer::renewed{.ttl = std::chrono::seconds(mine->lease.ttl_s)});
    }
    if (known) {
        if (const auto gone = self->book_.take_on(at, known->lease.id)) self->retire(*gone);
    }
    reply telling = lost(self, asked.name, asked.owner, give_up);
    result<lease_reply> told = co_await telling;
    co_return told;
}

// Whether there was an entry to remove.
auto lease_core::end(core_ptr self, lock_name name, owner_token owner, fencing_token only,
                     time_point give_up) -> later<bool> {
    const place at = standing_book::of(name, owner);
    standing mine;
    if (const auto known = self->book_.find(at)) mine = *known;
    bool doubt = false;
    for (int attempt = 0; attempt < most_tries; ++attempt) {
        if (mine.entry.version == 0 || attempt > 0) {
            later<seen_queue> reading = read_queue(self, name, give_up);
            result<seen_queue> seen = co_await reading;
            if (!seen) {
                if (doubt) seen.error().code = errc::outcome_unknown;
                co_return std::unexpected(std::move(seen.error()));
            }
            const ordered::queue_entry* there = seen->queue.find(owner);
            if (there == nullptr) break;
            mine.entry = *there;
        }
        if (only.value != 0 && mine.entry.fence() > only) co_return false;
        wire::TxnRequest take_back;
        *take_back.add_compare() = unchanged(mine.entry.key, mine.entry.version);
        *take_back.add_success() = remove(mine.entry.key);
        pending<called<wire::TxnResponse>> asking =
            self->client_->txn(std::move(take_back), give_up);
        called<wire::TxnResponse> said = co_await asking;
        doubt = doubt || said.doubt;
        if (!said.value) co_return std::unexpected(std::move(said.value.error()));
        if (said.value->succeeded()) {
            if (auto gone = self->book_.take(at)) {
                gone->doubtful = gone->doubtful || doubt;
                self->retire(*gone);
            }
            co_return true;
        }
    }
    if (const auto gone = self->book_.take(at)) self->retire(*gone);
    co_return doubt;  // then it was an attempt of ours that removed it
}

// What an owner leaves behind: its watch, and its lease, for another if nothing can come of it.
void lease_core::retire(const standing& gone) {
    client_->unwatch(gone.watch.id);
    if (gone.lease.id == 0) return;
    if (gone.doubtful) {
        client_->revoke(gone.lease.id, now() + 5s);
    } else {
        pool_.give_back(gone.lease, now());
    }
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

// The entry stays where it is, with another owner in it: it keeps its position, and so its fence.
auto lease_core::adopt(core_ptr self, lease_adoption asked, time_point give_up) -> reply {
    const place at = standing_book::of(asked.name, asked.to);
    for (int attempt = 0; attempt < most_tries; ++attempt) {
        later<seen_queue> reading = read_queue(self, asked.name, give_up);
        result<seen_queue> seen = co_await reading;
        if (!seen) co_return std::unexpected(std::move(seen.error()));
        const ordered::queue_entry* there = seen->queue.find(asked.from);
        if (there == nullptr) there = seen->queue.find(asked.to);
        if (there == nullptr || !seen->queue.holds(*there)) {
            reply telling = lost(self, asked.name, asked.from, give_up);
            result<lease_reply> told = co_await telling;
            co_return told;
        }
        standing mine{.entry = *there, .holds = true};
        mine.entry.owner = asked.to.value();
        {
            const std::scoped_lock guard(self->mutex_);
            mine.entry.who = self->who_;
        }
        // The lease that it had is the other process's; this one needs its own.
        later<std::optional<standing>> writing =
            rewrite(self, asked.name, std::move(mine), whole_seconds(asked.ttl), give_up);
        result<std::optional<standing>> written = co_await writing;
        if (!written) co_return std::unexpected(std::move(written.error()));
        if (!*written) continue;
        const duration ttl = std::chrono::seconds((*written)->lease.ttl_s);
        self->book_.put(at, std::move(**written), self->now());
        co_return lease_reply(answer::renewed{.ttl = ttl});
    }
    co_return fail(
        errc::unavailable,
        fmt::format("etcd: the holder of '{}' changed again and again", asked.name.value()));
}

void lease_core::close() {
    const time_point until = now() + 100ms;
    std::vector<pending<called<wire::LeaseRevokeResponse>>> ending;
    for (const standing& one : book_.take_all()) {
        if (!one.holds && one.lease.id != 0) ending.push_back(client_->revoke(one.lease.id, until));
    }
    for (const etcd_lease& one : pool_.take_all()) ending.push_back(client_->revoke(one.id, until));
    client_->close();
    for (const auto& one : ending) static_cast<void>(one.wait());
}

}  // namespace holdfast::etcd

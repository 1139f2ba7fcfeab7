// SPDX-License-Identifier: Apache-2.0
//
// How a name is acquired. One that nobody has is one trip: the transaction that writes the entry if
// the queue is empty, and beside it the renewal of the lease. Otherwise the same transaction
// returns the queue.
#include "driver/etcd/etcd_requests.hpp"
#include "driver/etcd/lease_core.hpp"
#include "lease/ordered/entry_text.hpp"

#include "core/permit_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::etcd {
namespace {

using namespace std::chrono_literals;

// A lease may end while it is being used for the first time; hardly ever twice.
constexpr int most_attempts = 4;

constexpr duration poll_every = 1s;

// The last part of the key of one that found the queue empty: the same for all, because there is
// only one at a time. Who waits, or shares, has its owner there. With a key for each owner, etcd
// would keep one more in its index with each acquire until it is compacted, and walk over all of
// them each time that it looks into the queue.
constexpr std::string_view first_in_queue = "0";

duration ttl_of_lease(const etcd_lease& lease) {
    return std::chrono::seconds(lease.ttl_s);
}

// A tenth more than the owner needs, so that the next owner in that tenth need not renew it.
std::int64_t with_reserve(std::int64_t ttl_s) {
    return ttl_s + ttl_s / 10;
}

void hold_from_now(standing& one) {
    one.holds = true;
    one.watch = {};
}

}  // namespace

auto lease_core::lend(core_ptr self, std::int64_t ttl_s, spare_lease spares, time_point give_up)
    -> later<lent_lease> {
    const time_point before = self->now();
    if (const auto spare = self->pool_.take(with_reserve(ttl_s), before)) {
        lent_lease lent{*spare, {}};
        const bool lasts = spare->ends - before >= std::chrono::seconds(ttl_s);
        if (spares == spare_lease::renewed || !lasts) {
            lent.renewal = self->client_->keep_alive(spare->id, give_up);
        }
        co_return lent;
    }
    pending<called<wire::LeaseGrantResponse>> asked =
        self->client_->grant(with_reserve(ttl_s), give_up);
    called<wire::LeaseGrantResponse> said = co_await asked;
    if (!said.value) {
        // No name was touched: a lease that was granted without our knowing ends by itself.
        said.value.error().code = said.doubt ? errc::unavailable : said.value.error().code;
        co_return std::unexpected(std::move(said.value.error()));
    }
    const std::int64_t granted = said.value->ttl();
    lent_lease lent{{said.value->id(), granted, before + std::chrono::seconds(granted)}, {}};
    co_return lent;
}

// What the renewal of a lent lease came to.
auto lease_core::confirm(lent_lease lent) -> pending<kept> {
    if (!lent.renewal) co_return kept::yes;
    pending<called<std::int64_t>> renewal = *lent.renewal;
    called<std::int64_t> said = co_await renewal;
    if (!said.value) co_return kept::unknown;
    co_return *said.value > 0 ? kept::yes : kept::gone;
}

auto lease_core::queue_in(const wire::RangeResponse& range, const lock_name& name,
                          std::int64_t revision) const -> seen_queue {
    return {ordered::queue_order(entries_of(range, keys_, name.value())), revision};
}

auto lease_core::read_queue(core_ptr self, lock_name name, time_point give_up)
    -> later<seen_queue> {
    wire::RangeRequest range = range_of(self->keys_.queue(name.value()));
    pending<called<wire::RangeResponse>> asked = self->client_->range(std::move(range), give_up);
    called<wire::RangeResponse> said = co_await asked;
    if (!said.value) {
        said.value.error().code =
            said.doubt ? errc::unavailable : said.value.error().code;  // only a read
        co_return std::unexpected(std::move(said.value.error()));
    }
    seen_queue seen = self->queue_in(*said.value, name, said.value->header().revision());
    co_return seen;
}

ordered::queue_entry lease_core::new_entry(const ask::acquire& asked) const {
    const std::scoped_lock guard(mutex_);
    return {.key = keys_.entry(asked.name.value(), asked.owner.value()),
            .owner = std::string(asked.owner.value()),
            .mode = asked.mode,
            .who = who_,
            .since = client_->time().wall(),
            .note = std::string(asked.note.value())};
}

auto lease_core::acquire(core_ptr self, ask::acquire asked, time_point give_up) -> reply {
    if (asked.mode.type == lease_mode::kind::permit) {
        if (auto why = detail::unfit_permits(asked.mode)) co_return std::unexpected(*why);
        if (asked.mode.permits > asked.mode.limit) {
            co_return fail(errc::invalid_argument,
                           fmt::format("{} permits at once of '{}': there are only {}",
                                       asked.mode.permits, asked.name.value(), asked.mode.limit));
        }
    }
    std::optional<standing> known = self->book_.find(standing_book::of(asked.name, asked.owner));
    if (known && known->entry.version != 0) {
        later<std::optional<lease_reply>> looking =
            look_again(self, asked, std::move(*known), give_up);
        result<std::optional<lease_reply>> found = co_await looking;
        if (!found) co_return std::unexpected(std::move(found.error()));
        if (*found) co_return std::move(**found);
    } else if (known) {
        // An attempt whose outcome is not known, and which a slow server may still carry out.
        self->book_.take(standing_book::of(asked.name, asked.owner));
        pending<called<wire::LeaseRevokeResponse>> ending =
            self->client_->revoke(known->lease.id, give_up);
        co_await ending;
    }
    reply joining = join(self, asked, give_up);
    result<lease_reply> joined = co_await joining;
    co_return joined;
}

auto lease_core::join(core_ptr self, ask::acquire asked, time_point give_up) -> reply {
    for (int attempt = 0; attempt < most_attempts; ++attempt) {
        later<std::optional<lease_reply>> joining = join_once(self, asked, give_up);
        result<std::optional<lease_reply>> joined = co_await joining;
        if (!joined) co_return std::unexpected(std::move(joined.error()));
        if (*joined) co_return std::move(**joined);
    }
    co_return fail(errc::unavailable,
                   fmt::format("etcd: the leases for '{}' ended again and again before they could "
                               "be used: is the server overloaded?",
                               asked.name.value()));
}

// Nothing: the lease was gone, and nothing was written.
auto lease_core::join_once(core_ptr self, ask::acquire asked, time_point give_up)
    -> later<std::optional<lease_reply>> {
    const place at = standing_book::of(asked.name, asked.owner);
    const time_point since = self->now();
    later<lent_lease> lending =
        lend(self, whole_seconds(asked.ttl), spare_lease::as_it_is, give_up);
    result<lent_lease> lent = co_await lending;
    if (!lent) co_return std::unexpected(std::move(lent.error()));

    standing mine{.entry = self->new_entry(asked), .lease = lent->lease};
    mine.entry.key = self->keys_.entry(asked.name.value(), first_in_queue);
    const ordered::key_range queue = self->keys_.queue(asked.name.value());
    wire::TxnRequest take;
    *take.add_compare() = nothing_in(queue);
    *take.add_success() = put(mine.entry.key, ordered::entry_text(mine.entry), mine.lease.id);
    *take.add_failure() = get(queue);
    if (asked.turns.value != 0) take.clear_success();  // it holds the name, or nothing is done

    pending<called<wire::TxnResponse>> asking = self->client_->txn(std::move(take), give_up);
    called<wire::TxnResponse> said = co_await asking;
    if (!said.value) {
        if (said.no_lease && !said.doubt) co_return std::nullopt;
        mine.doubtful = said.doubt;
        if (said.doubt) self->book_.put(at, mine, since);
        co_return std::unexpected(std::move(said.value.error()));
    }
    if (said.value->succeeded() && asked.turns.value != 0) co_return lease_reply(answer::lost{});
    if (!said.value->succeeded()) {
        seen_queue seen = self->queue_in(said.value->responses(0).response_range(), asked.name,
                                         said.value->header().revision());
        later<std::optional<lease_reply>> joining =
            join_others(self, asked, std::move(seen), std::move(*lent), said.doubt, give_up);
        result<std::optional<lease_reply>> joined = co_await joining;
        co_return joined;
    }
    mine.entry.position = mine.entry.version =
        static_cast<std::uint64_t>(said.value->header().revision());
    mine.doubtful = said.doubt;
    mine.holds = true;
    if (lent->renewal) mine.lease.ends = since + ttl_of_lease(mine.lease);
    self->book_.put(at, mine, since);
    pending<kept> confirming = confirm(*lent);
    const kept is = co_await confirming;
    if (is == kept::yes) {
        const duration left = std::min(mine.lease.ends - since, ttl_of_lease(mine.lease));
        co_return lease_reply(answer::granted{mine.entry.fence(), left});
    }
    self->book_.update(at, [](standing& one) { one.doubtful = true; });
    if (is == kept::unknown) {
        co_return fail(errc::outcome_unknown,
                       "etcd: the name was taken, but its lease could not "
                       "be renewed");
    }
    self->book_.take(at);
    co_return std::nullopt;
}

// The name has entries: one of its own, or those of others. `lent` is the lease that was not used,
// unless in doubt.
auto lease_core::join_others(core_ptr self, ask::acquire asked, seen_queue seen, lent_lease lent,
                             bool doubt, time_point give_up) -> later<std::optional<lease_reply>> {
    const time_point since = self->now();
    const std::int64_t ttl_s = whole_seconds(asked.ttl);
    const ordered::queue_entry* const there = seen.queue.find(asked.owner);
    if (!doubt) self->pool_.give_back(lent.lease, since);
    if (doubt && (there == nullptr || there->lease != lent.lease.id)) {
        self->client_->revoke(lent.lease.id, give_up);
    }
    if (there != nullptr) {
        standing mine{.entry = *there, .lease = {there->lease, ttl_s, since}, .doubtful = true};
        later<std::optional<lease_reply>> looking =
            look_again(self, asked, std::move(mine), give_up);
        result<std::optional<lease_reply>> found = co_await looking;
        co_return found;
    }
    if (asked.turns.value != 0) co_return lease_reply(answer::lost{});
    if (auto why = seen.queue.unfit(asked)) co_return std::unexpected(std::move(*why));
    const bool room = seen.queue.has_room_for(asked.mode);
    const std::uint32_t waiting = seen.queue.waiters_before(nullptr);
    if (!room && asked.otherwise == ask::when_busy::refuse) {
        co_return lease_reply(answer::busy{poll_every, waiting, {}, seen.queue.latest_fence()});
    }
    if (!room && waiting >= ordered::queue_order::most_waiters) {
        co_return fail(errc::busy, fmt::format("the queue for '{}' is full: {} wait",
                                               asked.name.value(), waiting));
    }
    later<lent_lease> lending =
        lend(self, room ? ttl_s : std::min(ttl_s, place_s), spare_lease::renewed, give_up);
    result<lent_lease> second = co_await lending;
    if (!second) co_return std::unexpected(std::move(second.error()));
    later<std::optional<lease_reply>> standing_in =
        stand_in_queue(self, asked, std::move(*second), doubt, give_up);
    result<std::optional<lease_reply>> stood = co_await standing_in;
    co_return stood;
}

auto lease_core::stand_in_queue(core_ptr self, ask::acquire asked, lent_lease lent, bool doubt,
                                time_point give_up) -> later<std::optional<lease_reply>> {
    const place at = standing_book::of(asked.name, asked.owner);
    const time_point since = self->now();
    standing mine{.entry = self->new_entry(asked), .lease = lent.lease, .doubtful = doubt};
    const ordered::key_range queue = self->keys_.queue(asked.name.value());
    wire::TxnRequest stand;
    *stand.add_compare() = absent(mine.entry.key);
    *stand.add_success() = put(mine.entry.key, ordered::entry_text(mine.entry), mine.lease.id);
    *stand.add_success() = get(queue);
    *stand.add_failure() = get(queue);
    pending<called<wire::TxnResponse>> asking = self->client_->txn(std::move(stand), give_up);
    called<wire::TxnResponse> said = co_await asking;
    if (!said.value) {
        if (said.no_lease && !said.doubt) co_return std::nullopt;
        mine.doubtful = mine.doubtful || said.doubt;
        if (mine.doubtful) self->book_.put(at, mine, since);
        co_return std::unexpected(std::move(said.value.error()));
    }
    const int last = said.value->responses_size() - 1;
    seen_queue seen = self->queue_in(said.value->responses(last).response_range(), asked.name,
                                     said.value->header().revision());
    if (!said.value->succeeded()) {
        if (seen.queue.find(asked.owner) == nullptr) co_return std::nullopt;
        // Its entry is there already, and maybe on another lease than the one that was renewed.
        later<std::optional<lease_reply>> joining =
            join_others(self, asked, std::move(seen), std::move(lent), said.doubt, give_up);
        result<std::optional<lease_reply>> joined = co_await joining;
        co_return joined;
    }
    pending<kept> confirming = confirm(lent);
    const kept is = co_await confirming;
    if (is == kept::gone) co_return std::nullopt;
    const ordered::queue_entry* there = seen.queue.find(asked.owner);
    if (there == nullptr) co_return std::nullopt;
    mine.entry = *there;
    mine.doubtful = mine.doubtful || said.doubt || is == kept::unknown;
    self->book_.put(at, mine, since);
    if (is == kept::unknown) {
        co_return fail(errc::outcome_unknown,
                       "etcd: it stands in the queue, but its lease could not be renewed");
    }
    reply concluding = conclude(self, asked, std::move(mine), std::move(seen), give_up);
    result<lease_reply> concluded = co_await concluding;
    if (!concluded) co_return std::unexpected(std::move(concluded.error()));
    co_return std::move(*concluded);
}

// Nothing: it does not stand there any more.
auto lease_core::look_again(core_ptr self, ask::acquire asked, standing mine, time_point give_up)
    -> later<std::optional<lease_reply>> {
    const place at = standing_book::of(asked.name, asked.owner);
    const time_point since = self->now();
    const std::optional<standing> known = self->book_.find(at);
    // A renewal that comes too late is not answered until the lease is revoked: see etcd_client.
    const bool in_time = since < mine.lease.ends;
    std::optional<pending<called<std::int64_t>>> renewal;
    if (in_time) renewal = self->client_->keep_alive(mine.lease.id, give_up);
    later<seen_queue> reading = read_queue(self, asked.name, give_up);
    result<seen_queue> seen = co_await reading;
    if (!seen) co_return std::unexpected(std::move(seen.error()));
    const ordered::queue_entry* there = seen->queue.find(asked.owner);
    if (there == nullptr) {
        if (const auto gone = self->book_.take(at)) self->retire(*gone);
        if (asked.turns.value != 0) co_return lease_reply(answer::lost{});
        co_return std::nullopt;
    }
    if (auto why = seen->queue.unfit(asked)) co_return std::unexpected(std::move(*why));
    if (!renewal || there->lease != mine.lease.id) {
        renewal = self->client_->keep_alive(there->lease, give_up);
    }
    pending<called<std::int64_t>> renewing = *renewal;
    called<std::int64_t> said = co_await renewing;
    if (!said.value) {
        co_return fail(errc::unavailable, std::move(said.value.error().detail));
    }
    if (*said.value <= 0) {
        if (const auto gone = self->book_.take(at)) self->retire(*gone);
        if (asked.turns.value != 0) co_return lease_reply(answer::lost{});
        co_return std::nullopt;
    }
    mine.entry = *there;
    mine.lease = {there->lease, *said.value, since + std::chrono::seconds(*said.value)};
    bool newer = false;
    const bool watched = self->book_.update(at, [&](standing& one) {
        const std::uint64_t seen_before = known ? known->entry.version : 0;
        newer = standing_book::is_newer(one, mine.entry.version, seen_before);
        if (newer) return;
        one.entry = mine.entry;
        one.lease = mine.lease;
        mine.watch = one.watch;
        mine.holds = one.holds;
    });
    if (newer || (known && !watched)) {
        co_return fail(errc::outcome_unknown,
                       "etcd: another request of this owner changed its entry as well");
    }
    if (!watched) self->book_.put(at, mine, since);
    reply concluding = conclude(self, asked, std::move(mine), std::move(*seen), give_up);
    result<lease_reply> concluded = co_await concluding;
    if (!concluded) co_return std::unexpected(std::move(concluded.error()));
    co_return std::move(*concluded);
}

auto lease_core::conclude(core_ptr self, ask::acquire asked, standing mine, seen_queue seen,
                          time_point give_up) -> reply {
    const place at = standing_book::of(asked.name, asked.owner);
    const ordered::queue_entry* there = seen.queue.find(asked.owner);
    if (seen.queue.holds(*there)) {
        self->client_->unwatch(mine.watch.id);
        mine.watch = {};
        if (asked.turns.value != 0) {
            reply turning = turn(self, asked, std::move(mine), give_up);
            result<lease_reply> turned = co_await turning;
            co_return turned;
        }
        if (whole_seconds(asked.ttl) > mine.lease.ttl_s) {
            later<std::optional<standing>> writing =
                rewrite(self, asked.name, std::move(mine), whole_seconds(asked.ttl), give_up);
            result<std::optional<standing>> written = co_await writing;
            if (!written) co_return std::unexpected(std::move(written.error()));
            if (!*written) {
                co_return fail(errc::outcome_unknown,
                               "etcd: the waiter's entry was lost when it was its turn");
            }
            mine = std::move(**written);
        }
        self->book_.update(at, hold_from_now);
        co_return lease_reply(answer::granted{mine.entry.fence(), ttl_of_lease(mine.lease)});
    }
    if (asked.turns.value != 0) co_return lease_reply(answer::lost{});
    if (asked.otherwise == ask::when_busy::refuse) {
        reply leaving = withdraw(self, asked, give_up);
        result<lease_reply> left = co_await leaving;
        co_return left;
    }
    answer::busy said{
        poll_every, seen.queue.waiters_before(there), {there->position}, seen.queue.latest_fence()};
    self->watch_turn(at, seen, *there);
    co_return lease_reply(said);
}

// It shares the name from now on: the same entry, so the same fence.
auto lease_core::turn(core_ptr self, ask::acquire asked, standing mine, time_point give_up)
    -> reply {
    const place at = standing_book::of(asked.name, asked.owner);
    // One that was passed on inside a client has a later fence of the same entry.
    if (asked.turns.value / ordered::queue_entry::fences_each != mine.entry.position) {
        co_return lease_reply(answer::lost{});
    }
    if (mine.entry.mode != asked.mode || whole_seconds(asked.ttl) > mine.lease.ttl_s) {
        mine.entry.mode = asked.mode;
        later<std::optional<standing>> writing =
            rewrite(self, asked.name, std::move(mine), whole_seconds(asked.ttl), give_up);
        result<std::optional<standing>> written = co_await writing;
        if (!written) co_return std::unexpected(std::move(written.error()));
        if (!*written) co_return lease_reply(answer::lost{});
        mine = std::move(**written);
    }
    self->book_.update(at, hold_from_now);
    co_return lease_reply(answer::granted{asked.turns, ttl_of_lease(mine.lease)});
}

// Somebody was quicker: one that does not want to wait takes its entry back.
auto lease_core::withdraw(core_ptr self, ask::acquire asked, time_point give_up) -> reply {
    later<bool> ending = end(self, asked.name, asked.owner, {}, give_up);
    result<bool> ended = co_await ending;
    if (!ended) {
        co_return fail(errc::outcome_unknown, std::move(ended.error().detail));
    }
    co_return lease_reply(answer::busy{poll_every, 0, {}, {}});
}

}  // namespace holdfast::etcd

// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/name_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace holdfast::sql {
namespace {

bool compatible(const party& holder, const lease_mode& mode) {
    return mode.type != lease_mode::kind::exclusive && holder.mode.type == mode.type;
}

std::string_view word_for(const lease_mode& mode) {
    switch (mode.type) {
        case lease_mode::kind::exclusive: return "mutex";
        case lease_mode::kind::shared: return "shared mutex";
        case lease_mode::kind::permit: return "semaphore";
    }
    return "";
}

}  // namespace

std::int64_t pause_before_poll(std::int64_t waited, std::uint32_t ahead) {
    constexpr std::int64_t shortest = 1'000;
    constexpr std::int64_t longest = 50'000;
    constexpr std::int64_t longest_behind = 500'000;
    const std::int64_t head = std::clamp(waited / 4, shortest, longest);
    return std::min(head * (1 + std::int64_t{ahead}), longest_behind);
}

name_book::name_book(std::int64_t now, std::int64_t top, std::vector<party> parties,
                     hearing_check hears, wake_reach reach)
    : now_(now), top_(top), parties_(std::move(parties)), hears_(std::move(hears)), reach_(reach) {
    std::ranges::stable_sort(parties_, {}, [](const party& p) {
        return std::tuple(p.ticket, p.at == stand::holds ? p.fence : 0);
    });
    drop_dead();
}

void name_book::drop_dead() {
    for (party& p : parties_) {
        if (p.until <= now_) p.gone = true;
    }
}

party* name_book::find(const owner_token& owner, stand at) {
    const auto found = std::ranges::find_if(parties_, [&](const party& p) {
        return !p.gone && p.at == at && p.owner == owner.value();
    });
    return found == parties_.end() ? nullptr : &*found;
}

bool name_book::anyone(stand at) const {
    return std::ranges::any_of(parties_, [&](const party& p) { return !p.gone && p.at == at; });
}

bool name_book::fits(const lease_mode& mode) const {
    std::uint64_t taken = 0;
    for (const party& p : parties_) {
        if (p.gone || p.at != stand::holds) continue;
        if (!compatible(p, mode)) return false;
        taken += p.mode.permits;
    }
    return mode.type != lease_mode::kind::permit || taken + mode.permits <= limit_for(mode);
}

const party* name_book::resized() const {
    const auto found = std::ranges::find_if(
        parties_, [](const party& p) { return !p.gone && p.at == stand::resized; });
    return found == parties_.end() ? nullptr : &*found;
}

std::uint32_t name_book::limit_for(const lease_mode& mode) const {
    const party* changed = resized();
    return changed != nullptr ? changed->mode.limit : mode.limit;
}

bool name_book::too_many(const lease_mode& mode) const {
    return mode.type == lease_mode::kind::permit && mode.permits > limit_for(mode);
}

// Who uses the semaphore keeps its size known. Not each time: that would be a write more.
void name_book::keep_size() {
    constexpr std::int64_t fresh = resized_for - 3'600'000'000;
    for (party& p : parties_) {
        if (p.gone || p.at != stand::resized || p.until > now_ + fresh) continue;
        p.until = now_ + resized_for;
        p.changed = true;
    }
}

void name_book::resize(std::uint32_t permits) {
    const lease_mode size{lease_mode::kind::permit, 1, permits};
    for (party& p : parties_) {
        if (p.at == stand::resized) p.gone = true;
    }
    parties_.insert(parties_.begin(), party{.owner = "resized",
                                            .at = stand::resized,
                                            .mode = size,
                                            .until = now_ + resized_for,
                                            .since = now_,
                                            .changed = true});
    handoff();
}

std::uint32_t name_book::ahead_of(const party* waiter) const {
    std::uint32_t ahead = 0;
    for (const party& p : parties_) {
        if (&p == waiter) break;
        if (!p.gone && p.at == stand::waits) ++ahead;
    }
    return ahead;
}

// The fence: above all that were reserved for the name, and not below the clock, so that the row
// which remembers them may go as soon as the clock has passed them.
void name_book::hold(party& who, std::int64_t until, std::int64_t spare) {
    who.at = stand::holds;
    who.fence = std::max(top_ + 1, now_);
    top_ = who.fence + spare;
    who.until = until;
    who.since = now_;
    who.ticket = 0;
    who.changed = true;
}

// A name is a semaphore or a mutex, as long as it is held.
std::optional<error> name_book::unfit(const ask::acquire& asked) const {
    const auto counts = [](const lease_mode& mode) {
        return mode.type == lease_mode::kind::permit;
    };
    const auto other = std::ranges::find_if(parties_, [&](const party& p) {
        return p.at == stand::holds && !p.gone && p.until > now_ &&
               counts(p.mode) != counts(asked.mode);
    });
    if (other == parties_.end()) return std::nullopt;
    return error{errc::invalid_argument,
                 fmt::format("'{}' is held as a {}: use another name for a {}", asked.name.value(),
                             word_for(other->mode), word_for(asked.mode))};
}

result<lease_reply> name_book::acquire(const ask::acquire& asked, const listener_id& self) {
    if (party* holder = find(asked.owner, stand::holds)) return repeat(*holder, asked);
    if (auto why = unfit(asked)) return std::unexpected(std::move(*why));
    if (too_many(asked.mode)) {
        if (party* waiter = find(asked.owner, stand::waits)) waiter->gone = true;
        return fail(errc::invalid_argument,
                    fmt::format("{} permits at once of '{}': there are only {} now",
                                asked.mode.permits, asked.name.value(), limit_for(asked.mode)));
    }
    if (asked.mode.type == lease_mode::kind::permit) keep_size();
    const bool waits = asked.otherwise == ask::when_busy::join_queue;
    if (waits) {
        join_queue(asked, self);
        const std::uint32_t ahead = ahead_of(find(asked.owner, stand::waits));
        if (ahead >= most_waiters) {
            find(asked.owner, stand::waits)->gone = true;
            return fail(errc::busy, fmt::format("the queue for '{}' is full: {} wait",
                                                asked.name.value(), ahead));
        }
    }
    if (asked.barge) {
        if (fits(asked.mode)) take(asked, self);
    } else {
        handoff(waits ? &asked : nullptr);
        if (!waits && !anyone(stand::waits) && fits(asked.mode)) take(asked, self);
    }
    if (const party* mine = find(asked.owner, stand::holds)) {
        return answer::granted{{static_cast<std::uint64_t>(mine->fence)}, asked.ttl};
    }
    return busy(asked, self);
}

// Whoever holds it is renewed. An exclusive holder may become a shared one, which lets in those who
// wait for that; the other way round would have to wait for readers that may wait for the same.
result<lease_reply> name_book::repeat(party& holder, const ask::acquire& asked) {
    using kind = lease_mode::kind;
    if (holder.mode != asked.mode) {
        if (holder.mode.type != kind::exclusive || asked.mode.type != kind::shared) {
            return fail(errc::invalid_argument,
                        fmt::format("'{}' is held by this owner in another mode: release it first",
                                    asked.name.value()));
        }
        holder.mode = asked.mode;
    }
    holder.until = std::max(holder.until, now_ + micros(asked.ttl));
    holder.changed = true;
    const auto fence = static_cast<std::uint64_t>(holder.fence);
    handoff();
    return answer::granted{{fence}, asked.ttl};
}

void name_book::join_queue(const ask::acquire& asked, const listener_id& self) {
    party* mine = find(asked.owner, stand::waits);
    if (mine == nullptr) {
        std::int64_t last = 0;
        for (const party& p : parties_) {
            if (!p.gone && p.at == stand::waits) last = std::max(last, p.ticket);
        }
        const auto told = static_cast<std::int64_t>(asked.ticket.value);
        if (party* past = find(asked.owner, stand::evicted)) past->gone = true;
        party fresh{.owner = std::string(asked.owner.value()), .at = stand::waits};
        fresh.ticket = told != 0 ? told : std::max(now_, last + 1);
        fresh.since = std::min(now_, fresh.ticket);
        const auto after = std::ranges::upper_bound(parties_, fresh.ticket, {},
                                                    [](const party& p) { return p.ticket; });
        mine = &*parties_.insert(after, std::move(fresh));
    }
    mine->mode = asked.mode;
    mine->until = now_ + place;
    mine->claim = asked.barge ? 0 : std::min(micros(asked.ttl), longest_claim);
    mine->spare = asked.spare_fences;
    mine->listener = self;
    mine->changed = true;
}

void name_book::take(const ask::acquire& asked, const listener_id& self) {
    party* mine = find(asked.owner, stand::waits);
    if (mine == nullptr) {
        if (party* past = find(asked.owner, stand::evicted)) past->gone = true;
        parties_.insert(parties_.begin(), party{.owner = std::string(asked.owner.value())});
        mine = &parties_.front();
    }
    mine->mode = asked.mode;
    mine->listener = self;
    hold(*mine, now_ + micros(asked.ttl), asked.spare_fences);
}

// Tells or gives it to one in the queue. Answers whether those behind it may be asked.
bool name_book::offer(party& waiter) {
    const hearing where = hears_(waiter.listener);
    if (where == hearing::gone) {
        waiter.gone = true;
        return true;
    }
    const auto owner = owner_token::parse(waiter.owner);
    if (!owner) {  // nobody's owner looks like that: a damaged row
        waiter.gone = true;
        return true;
    }
    if (waiter.claim == 0) {
        left_to_queue_ = true;
        tell_to_poll(waiter);
        return false;
    }
    const bool blind = where == hearing::elsewhere;
    const std::int64_t claim = blind ? std::min(waiter.claim, blind_claim) : waiter.claim;
    hold(waiter, now_ + claim, waiter.spare);
    if (!blind) {
        notes_.push_back({waiter.listener,
                          {*owner,
                           {static_cast<std::uint64_t>(waiter.fence)},
                           std::chrono::microseconds(claim)}});
    }
    return true;
}

void name_book::tell_to_poll(const party& waiter) {
    const auto owner = owner_token::parse(waiter.owner);
    const hearing where = hears_(waiter.listener);
    if (!owner || (where != hearing::here && where != hearing::told)) return;
    notes_.push_back({waiter.listener, {*owner, {}, duration::zero()}});
}

// Who is next learns from its own look when the new lease is over. One that is shorter than the
// time between two looks could begin and end unseen: then the next one is told to look.
void name_book::handoff(const ask::acquire* me) {
    bool brief = false;
    for (party& p : parties_) {
        if (p.gone || p.at != stand::waits) continue;
        if (too_many(p.mode)) {  // since it was resized; its next look tells it
            p.gone = true;
            continue;
        }
        if (!fits(p.mode)) {
            if (brief) tell_to_poll(p);
            return;
        }
        if (me != nullptr && p.owner == me->owner.value()) {
            hold(p, now_ + micros(me->ttl), me->spare_fences);
        } else if (!offer(p)) {
            return;
        }
        brief = brief || (p.at == stand::holds && p.until < now_ + longest_poll);
    }
}

answer::busy name_book::busy(const ask::acquire& asked, const listener_id& self) {
    const party* mine = find(asked.owner, stand::waits);
    const std::uint32_t ahead = ahead_of(mine);
    std::int64_t due = now_ + longest_poll;
    bool woken = true;  // everybody before us will wake whoever is next
    for (const party& p : parties_) {
        const bool before = p.at == stand::holds ||
                            (p.at == stand::waits && mine != nullptr && p.ticket < mine->ticket);
        if (p.gone || !before) continue;
        if (p.at == stand::holds) due = std::min(due, p.until);
        if (reach_ == wake_reach::process && p.listener.process != self.process) woken = false;
    }
    // One that barges was told, and may not come: nobody wakes those behind it.
    if (left_to_queue_) woken = false;
    std::int64_t look = due - now_;
    if (!woken) {
        look = std::min(look, pause_before_poll(mine != nullptr ? now_ - mine->since : 0, ahead));
    }
    return {.poll_after = std::chrono::microseconds(std::max<std::int64_t>(look, 1000)),
            .ahead = ahead,
            .ticket = {mine != nullptr ? static_cast<std::uint64_t>(mine->ticket) : 0},
            .latest = {static_cast<std::uint64_t>(top_)}};
}

lease_reply name_book::renew(const ask::renew& asked) {
    if (party* holder = find(asked.owner, stand::holds)) {
        holder->until = std::max(holder->until, now_ + micros(asked.ttl));
        holder->changed = true;
        return answer::renewed{asked.ttl};
    }
    const party* past = find(asked.owner, stand::evicted);
    return answer::lost{past != nullptr ? past->reason : std::string()};
}

lease_reply name_book::release(const ask::release& asked) {
    party* holder = find(asked.owner, stand::holds);
    if (holder == nullptr) {
        const party* past = find(asked.owner, stand::evicted);
        return answer::lost{past != nullptr ? past->reason : std::string()};
    }
    holder->gone = true;
    handoff();
    return answer::released{true};
}

lease_reply name_book::leave(const ask::leave& asked) {
    party* waiter = find(asked.owner, stand::waits);
    party* holder = find(asked.owner, stand::holds);
    if (waiter != nullptr) waiter->gone = true;
    if (holder != nullptr) holder->gone = true;
    if (waiter != nullptr || holder != nullptr) handoff();
    return answer::released{waiter != nullptr || holder != nullptr};
}

// A party is known by its owner: the one goes, the other comes.
lease_reply name_book::adopt(const lease_adoption& asked, const listener_id& self) {
    party* holder = find(asked.to, stand::holds);
    if (holder == nullptr) {
        party* from = find(asked.from, stand::holds);
        if (from == nullptr) {
            const party* past = find(asked.from, stand::evicted);
            return answer::lost{past != nullptr ? past->reason : std::string()};
        }
        party next = *from;
        next.owner = asked.to.value();
        next.stored = false;
        from->gone = true;
        parties_.insert(parties_.begin(), std::move(next));
        holder = &parties_.front();
    }
    holder->until = std::max(holder->until, now_ + micros(asked.ttl));
    holder->listener = self;
    holder->changed = true;
    return answer::renewed{asked.ttl};
}

std::uint32_t name_book::evict(std::string_view reason) {
    std::uint32_t count = 0;
    for (party& p : parties_) {
        if (p.gone || p.at != stand::holds) continue;
        p.at = stand::evicted;
        p.reason = reason;
        p.changed = true;
        ++count;
    }
    handoff();
    return count;
}

bool name_book::is_crowd() const {
    const auto here = std::ranges::count_if(parties_, [](const party& p) { return !p.gone; });
    return here > 1 || anyone(stand::waits);
}

void name_book::settle() {
    handoff();
}

}  // namespace holdfast::sql

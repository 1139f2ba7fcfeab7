// SPDX-License-Identifier: Apache-2.0
#include "core/keeper_book.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {

void keeper_book::keep(entry lease) {
    lease->next = std::min(lease->renew_at, lease->deadline.load());
    heap_.emplace_back();
    put(heap_.size() - 1, std::move(lease));
    sift_up(heap_.size() - 1);
}

void keeper_book::forget(lease_state& lease) {
    if (lease.heap_index != lease_state::nowhere) take(lease.heap_index);
}

time_point keeper_book::next() const noexcept {
    return heap_.empty() ? time_point::max() : heap_.front()->next;
}

keeper_book::work keeper_book::due(time_point now, std::size_t most) {
    work found;
    while (next() <= now) {
        lease_state& lease = *heap_.front();
        if (now >= lease.deadline.load()) {
            entry over = take(0);
            if (over->end(lease_status::lost, over->reason_of_time()))
                found.losses.push_back(std::move(over));
            continue;
        }
        if (found.renewals.size() == most) break;
        lease.renewing = true;
        lease.renewal_sent = now;
        found.renewals.push_back(heap_.front());
        schedule(lease);
    }
    return found;
}

duration keeper_book::renewed(lease_state& lease, duration ttl, time_point now) {
    lease.renewing = false;
    const duration slack = lease.deadline.load() - now;
    const bool late = slack <= duration::zero();
    if (lease.heap_index == lease_state::nowhere || late) return slack;
    if (!lease.extends()) {
        lease.renew_at = renew_at(lease.renewal_sent, lease.ttl, lease.drift);
        schedule(lease);
        return duration::zero();
    }
    extend(lease, lease.renewal_sent, ttl);
    lease.renew_at = renew_at(lease.renewal_sent, ttl, lease.drift);
    lease.whole = true;
    schedule(lease);
    return slack;
}

// An engine never shortens a lease, so nothing that was believed before is taken back.
void keeper_book::extend(lease_state& lease, time_point from, duration ttl) {
    const time_point until = std::min(valid_until(from, ttl, lease.drift), lease.hold_end);
    lease.deadline = std::max(lease.deadline.load(), until);
    lease_status shaky = lease_status::jeopardy;
    lease.status.compare_exchange_strong(shaky, lease_status::held);
}

bool keeper_book::extended(lease_state& lease, time_point sent, duration ttl, time_point now) {
    if (lease.heap_index == lease_state::nowhere || now >= lease.deadline.load()) return false;
    extend(lease, sent, ttl);
    lease.renew_at = renew_at(sent, ttl, lease.drift);
    lease.whole = true;
    schedule(lease);
    return true;
}

duration keeper_book::ttl_to_ask(const lease_state& lease, time_point now) {
    const duration ttl = lease.ttl;
    if (lease.extends()) return ttl_until(lease.hold_end, now, ttl, lease.drift);
    constexpr duration least = std::chrono::milliseconds(10);
    return std::max<duration>(least, (lease.deadline.load() - now) / 2);
}

bool keeper_book::not_renewed(lease_state& lease, time_point now) {
    lease.renewing = false;
    if (lease.heap_index == lease_state::nowhere) return false;
    lease.renew_at = later(now, renewal_retry(lease.ttl));
    if (!lease.extends()) {
        schedule(lease);
        return false;
    }
    lease_status steady = lease_status::held;
    const bool over = now >= lease.deadline.load();  // its loss is the news then
    const bool news = !over && lease.status.compare_exchange_strong(steady, lease_status::jeopardy);
    schedule(lease);
    return news;
}

bool keeper_book::refused(lease_state& lease, std::string_view why) {
    lease.renewing = false;
    if (lease.heap_index == lease_state::nowhere) return false;
    if (lease.turning && why.empty()) return false;
    take(lease.heap_index);
    lease.loss_text = why;
    return lease.end(lease_status::lost, why.empty() ? loss_reason::missing : loss_reason::evicted);
}

void keeper_book::begin_turn(lease_state& lease) {
    if (lease.heap_index == lease_state::nowhere) return;
    lease.turning = true;
    schedule(lease);
}

void keeper_book::end_turn(lease_state& lease) {
    lease.turning = false;
    if (lease.heap_index != lease_state::nowhere) schedule(lease);
}

std::vector<keeper_book::entry> keeper_book::doubt_all_but(const lease_state& known,
                                                           time_point now) {
    std::vector<entry> news;
    const std::vector<entry> all = heap_;  // which is sifted below
    for (const entry& lease : all) {
        if (lease.get() == &known || lease->renewing) continue;
        lease->renew_at = std::min(lease->renew_at, now);
        schedule(*lease);
        lease_status steady = lease_status::held;
        if (lease->status.compare_exchange_strong(steady, lease_status::jeopardy)) {
            news.push_back(lease);
        }
    }
    return news;
}

std::vector<keeper_book::entry> keeper_book::lose_all_but(const lease_state& known) {
    std::vector<entry> lost;
    const std::vector<entry> all = heap_;
    for (const entry& lease : all) {
        if (lease.get() == &known || lease->renewing) continue;
        take(lease->heap_index);
        if (lease->end(lease_status::lost, loss_reason::expired)) lost.push_back(lease);
    }
    return lost;
}

keeper_book::entry keeper_book::find(const owner_token& owner) const {
    const auto found = std::ranges::find(heap_, owner, [](const entry& e) { return e->owner; });
    return found == heap_.end() ? nullptr : *found;
}

std::vector<keeper_book::entry> keeper_book::drain() {
    for (const entry& lease : heap_) lease->heap_index = lease_state::nowhere;
    return std::exchange(heap_, {});
}

void keeper_book::schedule(lease_state& lease) {
    const time_point deadline = lease.deadline.load();
    const bool waits = lease.renewing || lease.turning;
    lease.next = waits ? deadline : std::min(lease.renew_at, deadline);
    sift_up(lease.heap_index);
    sift_down(lease.heap_index);
}

void keeper_book::sift_up(std::size_t at) {
    while (at > 0) {
        const std::size_t above = (at - 1) / 2;
        if (heap_[above]->next <= heap_[at]->next) return;
        std::swap(heap_[above], heap_[at]);
        heap_[above]->heap_index = above;
        heap_[at]->heap_index = at;
        at = above;
    }
}

void keeper_book::sift_down(std::size_t at) {
    for (;;) {
        std::size_t least = at;
        for (const std::size_t below : {2 * at + 1, 2 * at + 2}) {
            if (below < heap_.size() && heap_[below]->next < heap_[least]->next) least = below;
        }
        if (least == at) return;
        std::swap(heap_[least], heap_[at]);
        heap_[least]->heap_index = least;
        heap_[at]->heap_index = at;
        at = least;
    }
}

void keeper_book::put(std::size_t at, entry lease) {
    lease->heap_index = at;
    heap_[at] = std::move(lease);
}

keeper_book::entry keeper_book::take(std::size_t at) {
    entry taken = std::move(heap_[at]);
    taken->heap_index = lease_state::nowhere;
    entry last = std::move(heap_.back());
    heap_.pop_back();
    if (at < heap_.size()) {
        put(at, std::move(last));
        sift_up(at);
        sift_down(heap_[at]->heap_index);
    }
    return taken;
}

}  // namespace holdfast::detail

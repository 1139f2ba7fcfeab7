// SPDX-License-Identifier: Apache-2.0
#include "lock/keeper.hpp"

#include "core/validity.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

// Renewals sent at once: enough to fill a pipeline, few enough that the next look at the deadlines
// is never far.
constexpr std::size_t most_renewals = 512;

clock_step step_of(const result<lease_reply>& reply) {
    const auto* good = reply ? std::get_if<answer::renewed>(&*reply) : nullptr;
    const auto* gone = reply ? std::get_if<answer::lost>(&*reply) : nullptr;
    if (good != nullptr) return good->clock;
    return gone != nullptr ? gone->clock : clock_step{};
}

}  // namespace

keeper::keeper(std::shared_ptr<lease_store> store, clock& time, const client_options& options,
               std::shared_ptr<reporter> tells, upkeep by)
    : store_(std::move(store)),
      request_timeout_(options.request_timeout),
      desk_(std::make_shared<desk>(time, std::move(tells), options.on_clock_step)) {
    if (by == upkeep::threads) thread_ = std::thread([this] { run(); });
}

keeper::~keeper() = default;

bool keeper::keep(std::shared_ptr<lease_state> lease) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->closing) return false;
    const time_point when = std::min(lease->renew_at, lease->deadline.load());
    desk_->book.keep(std::move(lease));
    desk_->wake_before(when);
    return true;
}

void keeper::forget(lease_state& lease) {
    const std::scoped_lock guard(desk_->mutex);
    desk_->book.forget(lease);
}

bool keeper::extended(lease_state& lease, time_point sent, duration ttl) {
    const std::scoped_lock guard(desk_->mutex);
    const bool done = desk_->book.extended(lease, sent, ttl, desk_->time.now());
    desk_->wake_before(desk_->book.next());
    return done;
}

void keeper::refused(lease_state& lease, std::string_view why) {
    {
        const std::scoped_lock guard(desk_->mutex);
        if (!desk_->book.refused(lease, why)) return;
    }
    desk_->report->lost(lease);
}

void keeper::begin_turn(lease_state& lease) {
    const std::scoped_lock guard(desk_->mutex);
    desk_->book.begin_turn(lease);
}

void keeper::end_turn(lease_state& lease) {
    const std::scoped_lock guard(desk_->mutex);
    desk_->book.end_turn(lease);
    desk_->wake_before(desk_->book.next());
}

std::function<void(const evicted&)> keeper::on_eviction() const {
    return [d = desk_](const evicted& told) { d->evicted(told); };
}

std::size_t keeper::size() const {
    const std::scoped_lock guard(desk_->mutex);
    return desk_->book.size();
}

std::size_t keeper::leaving() const {
    const std::scoped_lock guard(desk_->mutex);
    return desk_->leaves.size();
}

bool keeper::give_back(const lease_state& lease, time_point until) {
    return leave_in_background(leave_of(lease), std::max(until, lease.doubt_until),
                               lease.finds(desk_->time.now()));
}

bool keeper::leave_in_background(ask::leave request, time_point until, std::uint32_t finds) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->ended) return false;
    desk_->leaves.add(std::move(request), until, finds);
    desk_->wake_before(time_point::min());
    return true;
}

void keeper::doubt_in_background(ask::leave request, time_point until, std::uint32_t finds) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->ended) return;
    desk_->leaves.add_doubt(std::move(request), until, finds);
    desk_->wake_before(time_point::min());
}

void keeper::run() {
    desk& d = *desk_;
    std::unique_lock held(d.mutex);
    while (!d.ended) {
        if (tend(held)) continue;
        d.sleeps_until = d.next_wake();
        d.time.wait_until(held, d.changed, d.sleeps_until);
        d.sleeps_until = time_point::min();
    }
}

time_point keeper::step() {
    std::unique_lock held(desk_->mutex);
    while (tend(held)) {
    }
    return desk_->next_wake();
}

// Does what is due now; false if nothing was. Speaks without the lock.
bool keeper::tend(std::unique_lock<std::mutex>& held) {
    desk& d = *desk_;
    const time_point now = d.time.now();
    auto work = d.book.due(now, most_renewals);
    auto leaves = d.leaves.due(now);
    if (d.closing && d.leaves.size() == 0) d.changed.notify_all();  // some were over
    if (work.empty() && leaves.empty()) return false;
    for (const auto& lease : work.losses) d.note_loss(lease);
    held.unlock();
    for (const auto& lease : work.losses) d.report->lost(*lease);
    send_leaves(std::move(leaves), now);
    send_renewals(std::move(work.renewals), now);
    held.lock();
    return true;
}

// A renewal that is not answered in a quarter of the lease's life has failed: there is time for
// more.
void keeper::send_renewals(std::vector<keeper_book::entry> due, time_point now) {
    if (due.empty()) return;
    duration patience = request_timeout_;
    std::vector<lease_request> requests;
    requests.reserve(due.size());
    for (const auto& lease : due) {
        patience = std::min(patience, std::max<duration>(lease->ttl.load() / 4, 5ms));
        // A look that does not make the lease run longer must not shorten its note.
        requests.emplace_back(ask::renew{lease->name,
                                         lease->owner,
                                         lease->mode,
                                         keeper_book::ttl_to_ask(*lease, now),
                                         lease->fence,
                                         {},
                                         lease->extends() ? lease->note : holder_note()});
    }
    store_->submit(std::move(requests), later(now, patience),
                   [d = desk_, due = std::move(due)](std::size_t index, result<lease_reply> reply) {
                       d->renewal_answered(*due[index], reply);
                   });
}

void keeper::send_leaves(std::vector<leave_queue::handle> due, time_point now) {
    if (due.empty()) return;
    std::vector<lease_request> requests;
    requests.reserve(due.size());
    for (const auto& one : due) requests.emplace_back(one->request);
    store_->submit(std::move(requests), later(now, request_timeout_),
                   [d = desk_, due = std::move(due)](std::size_t index, result<lease_reply> reply) {
                       d->leave_answered(due[index], reply);
                   });
}

// The thread ends before they do.
void keeper::begin_close() {
    desk& d = *desk_;
    std::vector<keeper_book::entry> given_back;
    {
        const std::scoped_lock guard(d.mutex);
        if (d.closing) return;
        d.closing = true;
        d.leaves.hurry();
        given_back = d.book.drain();
        std::erase_if(given_back, [](const auto& lease) {
            return !lease->end(lease_status::lost, loss_reason::closed);
        });
        for (const auto& lease : given_back) {
            d.leaves.add(leave_of(*lease), time_point::max());
        }
        const time_point now = d.time.now();
        for (const auto& weak : d.lost) {
            const auto lease = weak.lock();
            if (lease == nullptr || now >= lease->gone_by()) continue;
            d.leaves.add(leave_of(*lease), time_point::max());
        }
        d.wake_before(time_point::min());
    }
    for (const auto& lease : given_back) d.report->lost(*lease);
}

std::size_t keeper::close(time_point until) {
    desk& d = *desk_;
    std::size_t left = 0;
    {
        std::unique_lock held(d.mutex);
        while (d.leaves.size() > 0 && d.time.now() < until) {
            d.time.wait_until(held, d.changed, until);
        }
        left = d.leaves.size();
        d.ended = true;
        d.changed.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    d.report->close();
    return left;
}

void keeper::desk::wake_before(time_point when) {
    if (when < sleeps_until) changed.notify_all();
}

time_point keeper::desk::next_wake() const {
    return std::min(book.next(), leaves.next());
}

void keeper::desk::renewal_answered(lease_state& lease, const result<lease_reply>& reply) {
    const time_point now = time.now();
    duration slack{};
    bool shaken = false;
    bool refused = false;
    keeper_book::entry heir;
    {
        const std::scoped_lock guard(mutex);
        heir = heir_of(lease);
        if (!reply) {
            shaken = book.not_renewed(lease, now);
        } else if (const auto* good = std::get_if<answer::renewed>(&*reply)) {
            slack = book.renewed(lease, good->ttl, now);
        } else {
            const auto* gone = std::get_if<answer::lost>(&*reply);
            refused = book.refused(heir != nullptr ? *heir : lease,
                                   gone == nullptr ? "" : std::string_view(gone->reason));
        }
        wake_before(book.next());
    }
    if (const clock_step step = step_of(reply); step.by != duration::zero()) {
        clock_stepped(lease, step);
    }
    if (!reply && lease.extends()) report->not_renewed();
    if (shaken) report->jeopardy(lease, lease.deadline.load() - now, reply.error());
    if (slack > duration::zero()) report->renewed(lease, slack);
    if (refused) report->lost(heir != nullptr ? *heir : lease);
}

// A lease that was passed on while its renewal was on its way is held by another state of the same
// owner. A loss is that one's: holders that are quicker than a trip would not hear of it otherwise.
// Requires: the mutex is held.
keeper_book::entry keeper::desk::heir_of(const lease_state& lease) const {
    const bool passed = lease.occupies_queue && lease.heap_index == lease_state::nowhere;
    return passed ? book.find(lease.owner) : nullptr;
}

// Tells of it, and sees to the leases that nothing was heard of since.
void keeper::desk::clock_stepped(const lease_state& known, const clock_step& step) {
    report->clock_stepped(step.by);
    if (!step.endangers) return;
    std::vector<keeper_book::entry> doubted;
    std::vector<keeper_book::entry> given_up;
    const time_point now = time.now();
    {
        const std::scoped_lock guard(mutex);
        if (on_clock_step == clock_step_policy::lose) {
            given_up = book.lose_all_but(known);
            for (const auto& lease : given_up) {
                leaves.add(leave_of(*lease), lease->gone_by());
            }
        } else {
            doubted = book.doubt_all_but(known, now);
        }
        wake_before(given_up.empty() ? book.next() : time_point::min());
    }
    const error why{errc::unavailable,
                    fmt::format("the engine's clock was set forward by {}",
                                std::chrono::round<std::chrono::milliseconds>(step.by))};
    for (const auto& lease : doubted) report->jeopardy(*lease, lease->deadline.load() - now, why);
    for (const auto& lease : given_up) report->lost(*lease);
}

void keeper::desk::evicted(const holdfast::evicted& told) {
    keeper_book::entry lease;
    {
        const std::scoped_lock guard(mutex);
        lease = book.find(told.owner);
        if (lease == nullptr || !book.refused(*lease, told.reason)) return;
    }
    report->lost(*lease);
}

void keeper::desk::leave_answered(leave_queue::handle one, const result<lease_reply>& reply) {
    const std::scoped_lock guard(mutex);
    if (reply) {
        const auto* gone = std::get_if<answer::released>(&*reply);
        leaves.answered(std::move(one), gone != nullptr && gone->found, time.now());
    } else {
        leaves.failed(std::move(one), time.now());
    }
    // Whoever closes waits for the last one; the thread, for room in the window or for the pause.
    if (closing && leaves.size() == 0) {
        changed.notify_all();
    } else {
        wake_before(leaves.next());
    }
}

// Requires: the mutex is held.
void keeper::desk::note_loss(const std::shared_ptr<lease_state>& lease) {
    if (lost.size() >= sweep_lost_at) {
        std::erase_if(lost, [](const auto& one) { return one.expired(); });
        sweep_lost_at = std::max<std::size_t>(64, 2 * lost.size());
    }
    lost.push_back(lease);
}

}  // namespace holdfast::detail

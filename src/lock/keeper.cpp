// SPDX-License-Identifier: Apache-2.0
#include "lock/keeper.hpp"

#include "core/mutation.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

// Renewals sent at once: enough to fill a pipeline, few enough that the next look at the deadlines
// is never far.
constexpr std::size_t most_renewals = 512;

// Background leavings kept at once. Past that they are left to their ttl.
constexpr std::size_t most_chores = 10'000;

constexpr duration chore_retry = 200ms;

}  // namespace

keeper::keeper(std::shared_ptr<lease_store> store, clock& time, duration request_timeout,
               std::shared_ptr<reporter> tells, upkeep by)
    : store_(std::move(store)),
      request_timeout_(request_timeout),
      desk_(std::make_shared<desk>(time, std::move(tells))) {
    if (by == upkeep::threads) thread_ = std::thread([this] { run(); });
}

keeper::~keeper() = default;

bool keeper::keep(std::shared_ptr<lease_state> lease) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->drained) return false;
    const time_point when = std::min(lease->renew_at, lease->deadline.load());
    desk_->book.keep(std::move(lease));
    desk_->wake_before(when);
    return true;
}

void keeper::forget(lease_state& lease) {
    const std::scoped_lock guard(desk_->mutex);
    desk_->book.forget(lease);
}

std::function<void(const evicted&)> keeper::on_eviction() const {
    return [d = desk_](const evicted& told) { d->evicted(told); };
}

std::size_t keeper::size() const {
    const std::scoped_lock guard(desk_->mutex);
    return desk_->book.size();
}

void keeper::leave_in_background(ask::leave request, time_point until) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->chores.size() >= most_chores) return;
    const time_point now = desk_->time.now();
    desk_->chores.push_back(std::make_shared<chore>(chore{std::move(request), until, now}));
    desk_->wake_before(now);
}

void keeper::run() {
    desk& d = *desk_;
    std::unique_lock held(d.mutex);
    while (!d.closing) {
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
    auto leavings = d.due_chores(now);
    if (work.empty() && leavings.empty()) return false;
    held.unlock();
    for (const auto& lease : work.losses) d.report->lost(*lease);
    send_chores(std::move(leavings), now);
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
        patience = std::min(patience, std::max<duration>(lease->ttl / 4, 5ms));
        requests.emplace_back(
            ask::renew{lease->name, lease->owner, lease->mode, lease->ttl, lease->fence});
    }
    store_->submit(std::move(requests), later(now, patience),
                   [d = desk_, due = std::move(due)](std::size_t index, result<lease_reply> reply) {
                       d->renewal_answered(*due[index], reply);
                   });
}

void keeper::send_chores(std::vector<std::shared_ptr<chore>> due, time_point now) {
    if (due.empty()) return;
    std::vector<lease_request> requests;
    for (const auto& one : due) requests.emplace_back(one->request);
    store_->submit(std::move(requests), later(now, request_timeout_),
                   [d = desk_, due = std::move(due)](std::size_t index, result<lease_reply> reply) {
                       d->chore_answered(*due[index], reply.has_value());
                   });
}

void keeper::close(time_point until) {
    desk& d = *desk_;
    std::vector<keeper_book::entry> given_back;
    {
        const std::scoped_lock guard(d.mutex);
        if (d.drained) return;
        d.drained = true;
        given_back = d.book.drain();
    }
    for (const auto& lease : given_back) {
        if (!lease->end(lease_status::lost, loss_reason::closed)) continue;
        leave_in_background({lease->name, lease->owner, lease->mode}, until);
        d.report->lost(*lease);
    }
    {
        std::unique_lock held(d.mutex);
        const auto busy = [&] {
            return std::ranges::any_of(d.chores, [](const auto& one) { return !one->done; });
        };
        while (busy() && d.time.now() < until) d.time.wait_until(held, d.changed, until);
        d.closing = true;
        d.changed.notify_all();
    }
    if (thread_.joinable()) thread_.join();
    d.report->close();
}

void keeper::desk::wake_before(time_point when) {
    if (when < sleeps_until) changed.notify_all();
}

time_point keeper::desk::next_wake() const {
    time_point next = book.next();
    for (const auto& one : chores) {
        if (!one->sent) next = std::min(next, one->next);
    }
    return next;
}

void keeper::desk::renewal_answered(lease_state& lease, const result<lease_reply>& reply) {
    const time_point now = time.now();
    duration slack{};
    bool shaken = false;
    bool refused = false;
    {
        const std::scoped_lock guard(mutex);
        if (!reply) {
            shaken = book.not_renewed(lease, now);
        } else if (const auto* good = std::get_if<answer::renewed>(&*reply)) {
            slack = book.renewed(lease, good->ttl, now);
        } else {
            const auto* lost = std::get_if<answer::lost>(&*reply);
            refused = book.refused(lease, lost == nullptr ? "" : std::string_view(lost->reason));
        }
        wake_before(book.next());
    }
    if (!reply) report->not_renewed();
    if (shaken) report->jeopardy(lease, lease.deadline.load() - now, reply.error());
    if (slack > duration::zero()) report->renewed(lease, slack);
    if (refused) report->lost(lease);
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

std::vector<std::shared_ptr<keeper::chore>> keeper::desk::due_chores(time_point now) {
    std::erase_if(chores, [&](const auto& one) { return one->done || now >= one->until; });
    std::vector<std::shared_ptr<chore>> due;
    for (const auto& one : chores) {
        if (one->sent || one->next > now) continue;
        one->sent = true;
        due.push_back(one);
    }
    return due;
}

void keeper::desk::chore_answered(chore& one, bool done) {
    const std::scoped_lock guard(mutex);
    one.sent = false;
    one.done = done || mutation("background_leaves_once");
    one.next = later(time.now(), chore_retry);
    changed.notify_all();
}

}  // namespace holdfast::detail

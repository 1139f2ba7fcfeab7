// SPDX-License-Identifier: Apache-2.0
#include "lock/keeper.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

// Renewals sent at once: enough to fill a pipeline, few enough that the next look at the deadlines is
// never far.
constexpr std::size_t most_renewals = 512;

// Background leavings kept at once. Past that they are left to their ttl.
constexpr std::size_t most_chores = 10'000;

constexpr duration chore_retry = 200ms;

}  // namespace

keeper::keeper(std::shared_ptr<lease_store> store, clock& time, duration request_timeout,
               std::shared_ptr<counters> count)
    : store_(std::move(store)),
      clock_(time),
      request_timeout_(request_timeout),
      count_(std::move(count)) {}

keeper::~keeper() = default;

void keeper::start() {
    thread_ = std::thread([this] { run(); });
}

void keeper::keep(std::shared_ptr<lease_state> lease) {
    const std::scoped_lock guard(mutex_);
    const time_point when = std::min(lease->renew_at, lease->deadline.load());
    book_.keep(std::move(lease));
    wake_before(when);
}

void keeper::forget(lease_state& lease) {
    const std::scoped_lock guard(mutex_);
    book_.forget(lease);
}

std::size_t keeper::size() const {
    const std::scoped_lock guard(mutex_);
    return book_.size();
}

void keeper::leave_in_background(ask::leave request, time_point until) {
    const std::scoped_lock guard(mutex_);
    if (chores_.size() >= most_chores) return;
    const time_point now = clock_.now();
    chores_.push_back(std::make_shared<chore>(chore{std::move(request), until, now}));
    wake_before(now);
}

void keeper::wake_before(time_point when) {
    if (when < sleeps_until_) changed_.notify_all();
}

time_point keeper::next_wake() const {
    time_point next = book_.next();
    for (const auto& one : chores_) {
        if (!one->sent) next = std::min(next, one->next);
    }
    return next;
}

void keeper::run() {
    std::unique_lock held(mutex_);
    while (!closing_) {
        const time_point now = clock_.now();
        auto work = book_.due(now, most_renewals);
        auto leavings = due_chores(now);
        if (work.empty() && leavings.empty()) {
            sleeps_until_ = next_wake();
            clock_.wait_until(held, changed_, sleeps_until_);
            sleeps_until_ = time_point::min();
            continue;
        }
        held.unlock();
        tell_losses(std::move(work.losses));
        send_chores(std::move(leavings), now);
        send_renewals(std::move(work.renewals), now);
        held.lock();
    }
}

// A renewal that is not answered in a quarter of the lease's life has failed: there is time for more.
void keeper::send_renewals(std::vector<keeper_book::entry> due, time_point now) {
    if (due.empty()) return;
    duration patience = request_timeout_;
    std::vector<lease_request> requests;
    requests.reserve(due.size());
    for (const auto& lease : due) {
        patience = std::min(patience, std::max<duration>(lease->ttl / 4, 5ms));
        requests.emplace_back(ask::renew{lease->name, lease->owner, lease->mode, lease->ttl});
    }
    store_->submit(std::move(requests), later(now, patience),
                   [self = weak_from_this(), due = std::move(due)](std::size_t index,
                                                                   result<lease_reply> reply) {
                       if (const auto alive = self.lock()) {
                           alive->renewal_answered(*due[index], reply);
                       }
                   });
}

void keeper::renewal_answered(lease_state& lease, const result<lease_reply>& reply) {
    const time_point now = clock_.now();
    bool refused = false;
    {
        const std::scoped_lock guard(mutex_);
        if (!reply) {
            counters::add(count_->renewal_failures);
            book_.not_renewed(lease, now);
        } else if (const auto* good = std::get_if<answer::renewed>(&*reply)) {
            counters::add(count_->renewed);
            count_->note_slack(book_.renewed(lease, good->ttl, now));
        } else {
            refused = book_.refused(lease);
        }
        wake_before(book_.next());
    }
    if (refused) {
        counters::add(count_->lost);
        herald_.tell([source = lease.lost]() mutable { source.request_stop(); });
    }
}

void keeper::tell_losses(std::vector<keeper_book::entry> lost) {
    for (const auto& lease : lost) {
        counters::add(count_->lost);
        herald_.tell([source = lease->lost]() mutable { source.request_stop(); });
    }
}

std::vector<std::shared_ptr<keeper::chore>> keeper::due_chores(time_point now) {
    std::erase_if(chores_, [&](const auto& one) { return one->done || now >= one->until; });
    std::vector<std::shared_ptr<chore>> due;
    for (const auto& one : chores_) {
        if (one->sent || one->next > now) continue;
        one->sent = true;
        due.push_back(one);
    }
    return due;
}

void keeper::send_chores(std::vector<std::shared_ptr<chore>> due, time_point now) {
    if (due.empty()) return;
    std::vector<lease_request> requests;
    for (const auto& one : due) requests.emplace_back(one->request);
    store_->submit(std::move(requests), later(now, request_timeout_),
                   [self = weak_from_this(), due = std::move(due)](std::size_t index,
                                                                   const result<lease_reply>& r) {
                       const auto alive = self.lock();
                       if (!alive) return;
                       const std::scoped_lock guard(alive->mutex_);
                       chore& one = *due[index];
                       one.sent = false;
                       one.done = r.has_value();
                       one.next = later(alive->clock_.now(), chore_retry);
                       alive->changed_.notify_all();
                   });
}

void keeper::close(time_point until) {
    std::vector<keeper_book::entry> given_back;
    {
        const std::scoped_lock guard(mutex_);
        if (closing_) return;
        given_back = book_.drain();
    }
    for (const auto& lease : given_back) {
        if (!lease->end(lease_status::lost, loss_reason::closed)) continue;
        leave_in_background({lease->name, lease->owner, lease->mode}, until);
        counters::add(count_->lost);
        herald_.tell([source = lease->lost]() mutable { source.request_stop(); });
    }
    std::thread ending;
    {
        std::unique_lock held(mutex_);
        const auto busy = [&] {
            return std::ranges::any_of(chores_, [](const auto& one) { return !one->done; });
        };
        while (busy() && clock_.now() < until) clock_.wait_until(held, changed_, until);
        closing_ = true;
        changed_.notify_all();
        ending = std::move(thread_);
    }
    if (ending.joinable()) ending.join();
    herald_.close();
}

}  // namespace holdfast::detail

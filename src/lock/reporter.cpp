// SPDX-License-Identifier: Apache-2.0
#include "lock/reporter.hpp"

#include <utility>

namespace holdfast::detail {

template <class Event, class Make>
void reporter::mention(const std::shared_ptr<const lease_observer>& listener,
                       std::function<void(const Event&)> lease_observer::* to, const Make& make) {
    for (const auto* who : {&observer_, &listener}) {
        if (*who == nullptr || !((**who).*to)) continue;
        auto news = [listens = *who, to, told = make()] { ((*listens).*to)(told); };
        if (!events_.post(std::move(news), most_)) counters::add(count_->observations_dropped);
    }
}

void reporter::acquired(const lease_state& lease, duration waited, grant_path path) {
    counters::add(count_->acquired);
    if (path != grant_path::at_once && path != grant_path::adopted) {
        counters::add(count_->waited);
        count_->waiting_time.add(waited);
    }
    if (path == grant_path::handed_off) counters::add(count_->handed_off);
    if (path == grant_path::passed_on) counters::add(count_->passed_on);
    mention(lease.listener, &lease_observer::acquired,
            [&] { return acquired_event{lease.name, lease.fence, waited, path}; });
}

void reporter::refused(const lock_name& name, const error& why, duration waited,
                       const std::shared_ptr<const lease_observer>& listener) {
    const bool answer = why == errc::busy || why == errc::timed_out || why == errc::cancelled;
    counters::add(answer ? count_->refused : count_->failed);
    mention(listener, &lease_observer::refused, [&] { return refused_event{name, why, waited}; });
}

void reporter::released(const lease_state& lease, const clock& time) {
    counters::add(count_->released);
    mention(lease.listener, &lease_observer::released,
            [&] { return released_event{lease.name, lease.fence, time.now() - lease.since}; });
}

void reporter::renewed(const lease_state& lease, duration slack) {
    count_->note_slack(slack);
    counters::add(count_->renewed);
    mention(lease.listener, &lease_observer::renewed,
            [&] { return renewed_event{lease.name, lease.fence, slack}; });
}

void reporter::not_renewed() {
    counters::add(count_->renewal_failures);
}

void reporter::jeopardy(const lease_state& lease, duration left, const error& why) {
    mention(lease.listener, &lease_observer::jeopardy,
            [&] { return jeopardy_event{lease.name, lease.fence, left, why}; });
}

void reporter::clock_stepped(duration by) {
    counters::add(count_->clock_steps);
    mention(nullptr, &lease_observer::clock_stepped, [&] { return clock_step_event{by}; });
}

void reporter::lost(const lease_state& lease) {
    const loss_reason why = lease.reason.load();
    count_->add_loss(why);  // first: whoever hears of it finds it counted
    pool_.fire(lease.lost.source());
    mention_loss(lease, why, why == loss_reason::evicted ? lease.loss_text : std::string());
}

void reporter::lost_at_release(const lease_state& lease, loss_reason why, const std::string& text) {
    count_->add_loss(why);
    mention_loss(lease, why, text);
}

void reporter::mention_loss(const lease_state& lease, loss_reason why, const std::string& text) {
    mention(lease.listener, &lease_observer::lost,
            [&] { return lost_event{lease.name, lease.fence, why, text}; });
}

}  // namespace holdfast::detail

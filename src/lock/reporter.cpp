// SPDX-License-Identifier: Apache-2.0
#include "lock/reporter.hpp"

#include <utility>

namespace holdfast::detail {

template <class Event>
void reporter::mention(std::function<void(const Event&)> lease_observer::* to, Event what) {
    auto news = [listens = observer_, to, told = std::move(what)] { ((*listens).*to)(told); };
    if (!herald_.mention(std::move(news), most_)) counters::add(count_->observations_dropped);
}

void reporter::acquired(const lease_state& lease, duration waited, grant_path path) {
    counters::add(count_->acquired);
    if (path != grant_path::at_once) {
        counters::add(count_->waited);
        count_->waiting_time.add(waited);
    }
    if (path == grant_path::handed_over) counters::add(count_->handed_over);
    if (path == grant_path::passed_on) counters::add(count_->passed_on);
    if (!observer_->acquired) return;
    mention(&lease_observer::acquired, acquired_event{lease.name, lease.fence, waited, path});
}

void reporter::refused(const lock_name& name, const error& why, duration waited) {
    const bool answer = why == errc::busy || why == errc::timed_out || why == errc::cancelled;
    counters::add(answer ? count_->refused : count_->failed);
    if (!observer_->refused) return;
    mention(&lease_observer::refused, refused_event{name, why, waited});
}

void reporter::released(const lease_state& lease, const clock& time) {
    counters::add(count_->released);
    if (!observer_->released) return;
    mention(&lease_observer::released,
            released_event{lease.name, lease.fence, time.now() - lease.since});
}

void reporter::renewed(const lease_state& lease, duration slack) {
    count_->note_slack(slack);
    counters::add(count_->renewed);
    if (!observer_->renewed) return;
    mention(&lease_observer::renewed, renewed_event{lease.name, lease.fence, slack});
}

void reporter::not_renewed() {
    counters::add(count_->renewal_failures);
}

void reporter::jeopardy(const lease_state& lease, duration left, const error& why) {
    if (!observer_->jeopardy) return;
    mention(&lease_observer::jeopardy, jeopardy_event{lease.name, lease.fence, left, why});
}

void reporter::lost(const lease_state& lease) {
    const loss_reason why = lease.reason.load();
    count_->add_loss(why);  // first: whoever hears of it finds it counted
    herald_.tell([source = lease.lost.source()]() mutable { source.request_stop(); });
    mention_loss(lease, why, why == loss_reason::broken ? lease.loss_text : std::string());
}

void reporter::lost_at_release(const lease_state& lease, loss_reason why, std::string text) {
    count_->add_loss(why);
    mention_loss(lease, why, std::move(text));
}

void reporter::mention_loss(const lease_state& lease, loss_reason why, std::string text) {
    if (!observer_->lost) return;
    mention(&lease_observer::lost, lost_event{lease.name, lease.fence, why, std::move(text)});
}

}  // namespace holdfast::detail

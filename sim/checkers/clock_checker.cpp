// SPDX-License-Identifier: Apache-2.0
#include "checkers/clock_checker.hpp"

#include "core/validity.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace holdfast::sim {

void clock_checker::see(const seen::clock_set& e) {
    steps_.emplace_back(e.at, e.by);
}

void clock_checker::see(const seen::request_sent& e) {
    const auto* kept = std::get_if<ask::renew>(&e.request);
    if (kept != nullptr) sent_[{e.process, kept->owner}] = e.at;
}

duration clock_checker::stepped(const sample& before, const sample& now) const {
    duration sum{};
    for (const auto& [at, by] : steps_) {
        if (at >= before.sent && at <= before.heard) return duration::zero();
        if (at >= now.sent && at <= now.heard) return duration::zero();
        if (at > before.heard && at < now.sent) sum += by;
    }
    return sum;
}

void clock_checker::see(const seen::request_answered& e) {
    const auto* kept = std::get_if<ask::renew>(&e.request);
    if (kept == nullptr || !e.reply) return;
    const sample now{sent_[{e.process, kept->owner}], e.at};
    const auto before = last_.find(e.process);
    const auto* good = std::get_if<answer::renewed>(&*e.reply);
    const auto* gone = std::get_if<answer::lost>(&*e.reply);
    const duration told = good != nullptr   ? good->clock.by
                          : gone != nullptr ? gone->clock.by
                                            : duration::zero();
    if (before != last_.end()) {
        const sample old = before->second;
        const duration by = stepped(old, now);
        // What neither clock nor round trip can explain: both samples are as wide as their trip,
        // and clocks may drift apart by 1 %, on both sides.
        const duration explained = drift_allowance(kept->ttl) + (old.heard - old.sent) +
                                   (now.heard - now.sent) + (now.heard - old.sent) / 40;
        if (std::chrono::abs(by) > explained && told == duration::zero()) {
            complain(e.at, fmt::format("process {} renewed '{}' and did not notice that the "
                                       "server's clock was set by {}",
                                       e.process, kept->name.value(), by));
        }
    }
    last_[e.process] = now;
}

}  // namespace holdfast::sim

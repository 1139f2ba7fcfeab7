// SPDX-License-Identifier: Apache-2.0
#include "core/acquire_machine.hpp"

#include "core/lease_bounds.hpp"
#include "core/overloaded.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

// A waiter that is out of time leaves the queue in this much more; the rest goes on in the
// background.
constexpr duration leaving_time = 100ms;

// A request that has less time than this may fail for want of it.
constexpr duration telling_time = 50ms;

constexpr duration first_pause = 10ms;
constexpr duration longest_pause = 500ms;

}  // namespace

acquire_machine::acquire_machine(acquire_plan plan)
    : plan_(std::move(plan)), waited_(plan_.waited) {}

bool acquire_machine::waits_in_queue() const noexcept {
    return plan_.wait_until != time_point::min();
}

acquire_machine::action acquire_machine::start(time_point now) {
    not_before_ = now;
    return ask(now);
}

acquire_machine::action acquire_machine::ask(time_point now) {
    phase_ = phase::asking;
    sent_ = now;
    const time_point patience = waits_in_queue() ? plan_.wait_until : time_point::max();
    return send{ask::acquire{.name = plan_.name,
                             .owner = plan_.owner,
                             .mode = plan_.mode,
                             .ttl = plan_.ttl,
                             .otherwise = waits_in_queue() ? ask::when_busy::join_queue
                                                           : ask::when_busy::refuse,
                             .ticket = ticket_,
                             .spare_fences = plan_.spare_fences,
                             .barge = plan_.barge,
                             .again = maybe_there_,
                             .note = plan_.note},
                std::min(later(now, plan_.request_timeout), patience)};
}

acquire_machine::action acquire_machine::on_reply(result<lease_reply> reply, time_point now) {
    if (phase_ == phase::leaving) return left(reply);
    if (!reply) return failed(std::move(reply.error()), now);
    return std::visit(
        overloaded{
            [&](const answer::granted& given) { return granted(given, now); },
            [&](const answer::busy& seen) { return busy(seen, now); },
            [&](const auto&) {
                return failed({errc::corrupt, "the engine's answer does not fit the request"}, now);
            },
        },
        *reply);
}

acquire_machine::action acquire_machine::granted(const answer::granted& given, time_point now) {
    const time_point end = valid_until(sent_, given.ttl, plan_.drift);
    if (now >= end) {
        maybe_there_ = true;
        // Who has time asks again: whatever is left of it is renewed.
        if (waits_in_queue() && now < plan_.wait_until) return ask(now);
        return leave({errc::unavailable,
                      fmt::format("the engine granted '{}' so late that the lease had run out",
                                  plan_.name.value())},
                     now);
    }
    return finish{grant{.fence = given.fence,
                        .valid_until = end,
                        .renew_at = renew_at(sent_, given.ttl, plan_.drift),
                        .waited = waited_,
                        .doubts = doubts_,
                        .doubt_until = doubt_until_}};
}

acquire_machine::action acquire_machine::busy(const answer::busy& seen, time_point now) {
    trouble_.reset();
    pause_ = duration::zero();
    not_before_ = sent_;
    if (!waits_in_queue()) {
        return finish{
            fail(errc::busy, fmt::format("'{}' is held by someone else", plan_.name.value())),
            doubts_ > 0, doubts_};
    }
    ticket_ = seen.ticket;
    latest_ = seen.latest;
    waited_ = true;
    maybe_there_ = true;
    if (now >= plan_.wait_until) return leave(out_of_time(), now);
    const duration look = std::clamp<duration>(seen.poll_after, 1ms, longest_poll);
    return wait(later(now, look));
}

// What was never sent, and what may have been carried out, are both asked again with the same
// owner; every other failure is an answer, and will not get better by asking.
acquire_machine::action acquire_machine::failed(error why, time_point now) {
    const bool unknown = why == errc::outcome_unknown;
    if (!unknown && why != errc::unavailable && why != errc::timed_out) {
        return leave(std::move(why), now);
    }
    if (unknown) {
        maybe_there_ = true;
        ++doubts_;
        doubt_until_ = later(sent_, longest_trace(plan_.ttl));
    }
    // The last request of a wait gets what is left of it, perhaps nothing. That it failed says
    // nothing about the engine, and that somebody else held the name was known before.
    const bool last = waits_in_queue() && later(now, first_pause) >= plan_.wait_until;
    if (last && waited_ && !trouble_) {
        return now < plan_.wait_until ? wait(plan_.wait_until) : leave(waited_in_vain(), now);
    }
    // A request that was cut short by the end of the wait tells less than the one before it.
    const bool cut_short = waits_in_queue() && plan_.wait_until - sent_ < telling_time;
    if (!trouble_ || !cut_short) {
        trouble_ = std::move(why);
    } else if (unknown) {
        trouble_->code = errc::outcome_unknown;
    }
    if (!waits_in_queue()) {
        if (!unknown || asked_again_) return leave(*trouble_, now);
        asked_again_ = true;
        return ask(now);
    }
    if (now >= plan_.wait_until) return leave(*trouble_, now);
    pause_ = std::clamp<duration>(2 * pause_, first_pause, longest_pause);
    return wait(later(now, pause_ / 2 + pause_ * plan_.jitter / 512));
}

acquire_machine::action acquire_machine::wait(time_point until) {
    phase_ = phase::waiting;
    wake_at_ = std::min(until, plan_.wait_until);
    return sleep{wake_at_};
}

acquire_machine::action acquire_machine::on_wake(time_point now) {
    if (waits_in_queue() && now >= plan_.wait_until) return leave(out_of_time(), now);
    return ask(now);
}

acquire_machine::action acquire_machine::on_poll_again(time_point now) {
    return on_wake(now);
}

// A push travels on a connection of its own and may come later than the answer to a look that was
// sent after it; believing it from that look on would be believing too long. The fence tells: only
// a grant above all that had been given at that look came after it, and is believed from the moment
// before the look. If that cannot be told, or little of the grant is left, ask: a repeated acquire
// answers the same grant, renewed.
acquire_machine::action acquire_machine::on_handoff(const handed_off& given, time_point now) {
    if (given.ttl == duration::zero()) return ask(now);
    const bool stale = latest_.value != 0 && given.fence <= latest_;
    if (stale) return sleep{wake_at_};
    const time_point end = valid_until(not_before_, given.ttl, plan_.drift);
    if (latest_.value == 0 || trouble_ || end - now < given.ttl / 4) return ask(now);
    return finish{grant{.fence = given.fence,
                        .valid_until = end,
                        .renew_at = renew_at(not_before_, given.ttl, plan_.drift),
                        .waited = true,
                        .handed_off = true,
                        .doubts = doubts_,
                        .doubt_until = doubt_until_}};
}

acquire_machine::action acquire_machine::on_cancel(time_point now) {
    return leave(
        {errc::cancelled, fmt::format("the wait for '{}' was cancelled", plan_.name.value())}, now);
}

error acquire_machine::out_of_time() const {
    return trouble_ ? *trouble_ : waited_in_vain();
}

error acquire_machine::waited_in_vain() const {
    return {errc::timed_out,
            fmt::format("'{}' was held by someone else all the time", plan_.name.value())};
}

acquire_machine::action acquire_machine::leave(error why, time_point now) {
    if (!maybe_there_) {
        return finish{std::unexpected(std::move(why))};
    }
    why_leaving_ = std::move(why);
    phase_ = phase::leaving;
    return send{ask::leave{plan_.name, plan_.owner, plan_.mode}, later(now, leaving_time)};
}

acquire_machine::action acquire_machine::left(const result<lease_reply>& reply) {
    error why = std::move(*why_leaving_);
    // What it had by an answered request may be what the first leave finds.
    std::uint32_t late = doubts_ == 0 ? 0 : doubts_ + (waited_ ? 1 : 0);
    if (!reply) {
        return finish{std::unexpected(std::move(why)), true, late};
    }
    const auto* gone = std::get_if<answer::released>(&*reply);
    if (late > 0 && gone != nullptr && gone->found) --late;
    // Whatever the last, unanswered request did is undone. One that was told of another holder
    // before, and whose time ran out with that request, has simply waited in vain.
    if (why == errc::outcome_unknown && waited_) {
        return finish{std::unexpected(waited_in_vain()), late > 0, late};
    }
    if (why == errc::outcome_unknown) {
        why.code = errc::unavailable;
        why.detail += "; whatever it did has been undone";
    }
    return finish{std::unexpected(std::move(why)), late > 0, late};
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
//
// The link's own thread: it connects, it reads when callers have handed the role over, and it tells
// the outcomes of submitted commands. It sleeps when callers do their own I/O.
#include "driver/redis/earlier_try.hpp"
#include "driver/redis/encode.hpp"
#include "driver/redis/link.hpp"

#include <holdfast/engine/delivery_round.hpp>

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <span>

namespace holdfast::redis {

void link::serve() {
    lock held(mutex_);
    while (!stopping_) {
        ticket_list told;
        told.splice(finished_);
        expire_queued(time_.now(), told);
        if (!told.empty()) {
            held.unlock();
            settle(told, nullptr);
            held.lock();
            continue;
        }
        if (current_ == nullptr && !queue_.empty() && time_.now() >= next_connect_) {
            connect(held);
            continue;
        }
        held.unlock();
        poll_channels();
        held.lock();
    }
    ticket_list rest;
    while (pending_request* t = queue_.pop_front()) {
        fail_ticket(*t, errc::cancelled, "queue: the client was closed");
        rest.push_back(*t);
    }
    rest.splice(finished_);
    queued_commands_ = 0;
    std::vector<channel*> mine;
    for (const auto& c : channels_) {
        c->reason = "the client was closed";
        mine.push_back(c.get());
    }
    held.unlock();
    for (channel* c : mine) break_channel(*c, reading_lock(c->reading_mutex), rest);
    settle(rest, nullptr);
}

void link::connect(lock& held) {
    held.unlock();
    const time_point deadline = time_.now() + profile_.options.connect_timeout;
    const patience go_on = [this] {
        ticket_list told;
        bool more = true;
        {
            const lock inner(mutex_);
            expire_queued(time_.now(), told);
            told.splice(finished_);
            more = !stopping_;
        }
        settle(told, nullptr);
        service_ready();  // those in flight on a retired connection do not wait for the next one
        return more;
    };
    auto address = where_(deadline);
    result<std::unique_ptr<wire>> made = std::unexpected(error{errc::unavailable, {}});
    if (address) {
        made = wire::open(*address, profile_, deadline, time_, go_on);
    } else {
        made = std::unexpected(address.error());
    }
    ticket_list told;
    held.lock();
    if (address) last_server_ = to_string(*address);
    if (made) {
        connected(std::move(*made));
    } else {
        not_connected(std::move(made.error()), told);
    }
    if (told.empty()) return;
    held.unlock();
    settle(told, nullptr);
    held.lock();
}

void link::connected(std::unique_ptr<wire> connection) {
    channels_.push_back(
        std::make_unique<channel>(std::move(connection), time_.now(), time_point::max()));
    current_ = channels_.back().get();
    current_->reader = channel::role::thread;
    backoff_ = duration::zero();
    next_connect_ = {};
    counts_.connects.add();
    counts_.open_connections.add();
    queue_farewells();
}

// Backoff with full jitter in its upper half: many clients of a server that came back do not come
// back together.
void link::not_connected(error e, ticket_list& settled) {
    const auto& o = profile_.options;
    backoff_ = std::clamp(backoff_ * 2, o.backoff_min, o.backoff_max);
    const auto half = static_cast<std::uint64_t>(backoff_.count()) / 2 + 1;
    next_connect_ =
        time_.now() + backoff_ / 2 + duration(static_cast<duration::rep>(chance_.below(half)));
    refusal_ = std::move(e);
    counts_.connect_failures.add();
    ticket_list waiting;
    waiting.splice(queue_);
    queued_commands_ = 0;
    submitted_queued_ = 0;
    while (pending_request* t = waiting.pop_front()) {
        if (t->patient && refusal_.code != errc::denied) {
            queue_.push_back(*t);
            queued_commands_ += t->expected;
            if (t->submitted) ++submitted_queued_;
            continue;
        }
        fail_ticket(*t, refusal_.code, refusal_.detail);
        settled.push_back(*t);
    }
}

// Submitted commands have no thread of their own that could withdraw them.
void link::expire_queued(time_point now, ticket_list& settled) {
    if (submitted_queued_ == 0) return;
    for (pending_request* t = queue_.front(); t != nullptr;) {
        pending_request* const next = t->next;
        if (t->submitted && now >= t->give_up) {
            queue_.remove(*t);
            queued_commands_ -= t->expected;
            --submitted_queued_;
            fail_ticket(*t, errc::timed_out, "queue: not written in time");
            settled.push_back(*t);
        }
        t = next;
    }
}

void link::poll_channels() {
    std::array<pollfd, 16> fds;
    std::array<channel*, 16> mine{};
    std::size_t count = 1;
    fds[0] = {.fd = nudge_.fd(), .events = POLLIN, .revents = 0};
    timespec left{};
    bool awaited = false;
    {
        const lock held(mutex_);
        const time_point now = time_.now();
        time_point wake = now + longest_wait;
        for (const auto& c : channels_) {
            take_what_is_unread(*c, now, wake);
            if (c->reader != channel::role::thread || count == fds.size()) continue;
            const bool usable = !c->retired && !c->broken;
            const bool idle = usable && c->flying_commands == 0 && queue_.empty();
            if (idle && c->lonely_rounds >= lonely_enough && !c->looking) {
                c->reader = channel::role::nobody;
                continue;
            }
            if (!c->writing && gate_open(*c)) wake = now;
            awaited = awaited || c->flying_commands > 0;
            wake = std::min(wake, c->earliest);
            c->reader_wakes = c->earliest;
            const short wanted = c->blocked ? POLLIN | POLLOUT : POLLIN;
            fds[count] = {.fd = c->connection->stream().fd(), .events = wanted, .revents = 0};
            mine[count++] = c.get();
        }
        if (current_ == nullptr && !queue_.empty()) wake = std::min(wake, next_connect_);
        if (submitted_queued_ > 0) {
            for (const pending_request* t = queue_.front(); t != nullptr; t = t->next) {
                if (t->submitted) wake = std::min(wake, t->give_up);
            }
        }
        if (!finished_.empty() || stopping_) wake = now;
        thread_wakes_ = wake;
        left = timeout_until(wake, now);
        awaited = awaited && wake > now;
    }
    const bool crowded = is_crowded();
    const timespec first = crowded || awaited ? timespec{} : left;
    int ready = ::ppoll(fds.data(), count, &first, nullptr);
    if (ready == 0 && (crowded || awaited)) {
        ready = detail::poll_with_yield(crowded ? readers_turns_ : lone_turns_,
                                        std::span(fds).first(count), left);
    }
    if (ready > 0 && fds[0].revents != 0) nudge_.clear();
    for (std::size_t i = 1; i < count; ++i) {
        static_cast<void>(service(*mine[i], ready > 0 ? fds[i].revents : short{0}, nullptr));
    }
}

// Replies that a reader has left to come, and nobody else has fetched since. One who reads now, and
// has left some lately, will do so again, and should not have to wake us.
void link::take_what_is_unread(channel& c, time_point now, time_point& wake) const {
    if (c.reader == channel::role::nobody && c.flying_commands > 0) {
        const time_point due = c.left_unread + unread_at_most;
        if (now < due) {
            wake = std::min(wake, due);
            return;
        }
        c.reader = channel::role::thread;
        c.lonely_rounds = lonely_enough;  // for this once
    } else if (c.reader != channel::role::thread && now < c.left_unread + 20 * unread_at_most) {
        wake = std::min(wake, now + unread_at_most);
    }
}

void link::service_ready() {
    std::vector<channel*> mine;
    {
        const lock held(mutex_);
        for (const auto& c : channels_) {
            if (c->reader == channel::role::thread) mine.push_back(c.get());
        }
    }
    for (channel* c : mine) {
        pollfd one{.fd = c->connection->stream().fd(), .events = POLLIN, .revents = 0};
        const int ready = ::poll(&one, 1, 0);
        static_cast<void>(service(*c, ready > 0 ? one.revents : short{0}, nullptr));
    }
}

void link::drop(channel& c) {
    std::erase_if(channels_, [&](const auto& one) { return one.get() == &c; });
}

// Tells who waits. A request may be gone as soon as its futex is set. `own` is the request of the
// caller that reads, and null on the link's thread and in a turn, where alone completions may run.
void link::settle(ticket_list& list, const pending_request* own) {
    const bool on_thread = own == nullptr;
    std::size_t woken = 0;
    const detail::delivery_round together;
    ticket_list spent;
    std::bitset<cohort_count> to_wake;
    while (pending_request* t = list.pop_front()) {
        if (t->submitted) {
            if (on_thread) {
                finish(std::unique_ptr<async_ticket>(static_cast<async_ticket*>(t)), spent);
            } else {
                const lock held(mutex_);
                finished_.push_back(*t);
                nudge_.raise();
            }
            continue;
        }
        if (t != own) {
            to_wake.set(t->cohort);
            ++woken;
        }
        t->settled.store(true, std::memory_order_release);
    }
    for (std::size_t i = 0; woken > 0 && i < cohort_count; ++i) {
        if (!to_wake.test(i)) continue;
        cohorts_[i].fetch_add(1, std::memory_order_release);
        futex_wake_all(cohorts_[i]);
    }
    if (!spent.empty()) pool_.give_back(spent);
}

// May this command be sent again, and has it been arranged? Decided on what its last try has shown.
bool link::repeat_later(async_ticket& t) {
    if (t.together > 0) {
        const bool unsent = !t.slots[0] && t.slots[0].error().code == errc::unavailable;
        return unsent && t.lost && time_.now() < t.give_up && ++t.tries <= most_unsent_tries;
    }
    const result<reply>& last = t.slots[t.loading ? 1 : 0];
    if (last) {
        const bool unknown_script = last->is_error() && last->text().starts_with("NOSCRIPT");
        if (!unknown_script || t.loading || !t.body) return false;
        const std::array<std::string_view, 3> load{"SCRIPT", "LOAD", t.body->source()};
        std::string both;
        append_command(both, load);
        both += t.storage;
        t.storage = std::move(both);
        t.loading = true;
        return true;
    }
    const time_point now = time_.now();
    if (last.error().code == errc::outcome_unknown) {
        t.was_sent = true;
        t.patient = true;
        return t.again == repeat::idempotent && now < t.give_up;
    }
    if (last.error().code != errc::unavailable || now >= t.give_up) return false;
    return t.was_sent || (t.lost && ++t.tries <= most_unsent_tries);
}

void link::finish(std::unique_ptr<async_ticket> t, ticket_list& spent) {
    if (repeat_later(*t)) {
        counts_.repeated.add();
        t->raw = t->storage;
        t->bytes = t->storage.size();
        t->expected = t->replies_to_come();
        t->replies = {t->slots, t->expected};
        t->answered = 0;
        submit(std::move(t));
        return;
    }
    deliver(*t);
    spent.push_back(*t.release());
}

void link::deliver(async_ticket& t) {
    if (t.together > 0) return t.done_together({t.slots, t.together});
    result<reply> answer = std::move(t.slots[t.loading ? 1 : 0]);
    if (t.loading && t.slots[0] && t.slots[0]->is_error()) answer = std::move(t.slots[0]);
    if (t.was_sent) keep_in_doubt(answer);
    t.done(std::move(answer));
}

}  // namespace holdfast::redis

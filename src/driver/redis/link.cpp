// SPDX-License-Identifier: Apache-2.0
//
// What callers do: come in, lead or wait, and leave with exactly one outcome per command.
#include "driver/redis/link.hpp"

#include "driver/redis/encode.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <utility>

namespace holdfast::redis {

link::link(const profile& p, server_locator where, clock& time, entropy& chance, counters& counts)
    : profile_(p),
      where_(std::move(where)),
      time_(time),
      chance_(chance),
      counts_(counts),
      turns_(time, detail::adaptive_yield::crowded(8)),
      readers_turns_(time, detail::adaptive_yield::crowded(4)),
      lone_turns_(time, detail::adaptive_yield::alone()) {}

link::~link() {
    {
        const std::scoped_lock guard(mutex_);
        stopping_ = true;
    }
    nudge_.raise();
    if (thread_.joinable()) thread_.join();
}

std::size_t link::queued() const {
    const std::scoped_lock guard(mutex_);
    return queued_commands_;
}

std::size_t link::in_flight() const {
    const std::scoped_lock guard(mutex_);
    std::size_t sum = 0;
    for (const auto& c : channels_) sum += c->flying_commands;
    return sum;
}

void link::start_thread() {
    if (started_) return;
    started_ = true;
    thread_ = std::thread([this] { serve(); });
}

std::string link::describe(const pending_request& t, std::size_t i, const channel* c,
                           std::string_view what) const {
    const auto taken = std::chrono::floor<std::chrono::milliseconds>(time_.now() - t.began);
    return fmt::format("{} to {}: {} (after {} ms, {} in flight, {} queued)", t.name(i),
                       c != nullptr ? to_string(c->connection->address()) : last_server_, what,
                       taken.count(), c != nullptr ? c->flying_commands : 0, queued_commands_);
}

// Requires: the mutex is held, or the caller is the request's only user.
void link::fail_ticket(pending_request& t, errc code, const std::string& detail) {
    for (std::size_t i = t.answered; i < t.expected && i < t.replies.size(); ++i) {
        t.replies[i] = fail(code, describe(t, i, nullptr, detail));
    }
    counts_.not_sent.add(t.expected - t.answered);
    t.answered = t.expected;
    t.where = pending_request::place::outside;
}

// False: the request was refused at the door, and its replies say why.
bool link::admit(pending_request& t, time_point now) {
    counts_.commands.add(t.expected);
    if (stopping_) {
        fail_ticket(t, errc::cancelled, "queue: the client was closed");
        return false;
    }
    if (now >= t.give_up) {
        fail_ticket(t, errc::timed_out, "queue: the deadline had passed before the call");
        return false;
    }
    if (queued_commands_ + t.expected > profile_.options.max_queued && queued_commands_ > 0) {
        fail_ticket(t, errc::unavailable, "queue: max_queued commands already wait");
        return false;
    }
    if (current_ == nullptr && now < next_connect_ && !t.patient) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_connect_ - now);
        fail_ticket(t, refusal_.code,
                    fmt::format("{}; next try in {} ms", refusal_.detail, left.count()));
        return false;
    }
    (current_ != nullptr ? counts_.hits : counts_.misses).add(t.expected);
    t.where = pending_request::place::queued;
    t.cohort = cohort_;
    t.lost = false;
    queue_.push_back(t);
    queued_commands_ += t.expected;
    if (t.submitted) ++submitted_queued_;
    start_thread();
    return true;
}

void link::run(pending_request& t) {
    callers_.fetch_add(1, std::memory_order_relaxed);
    come_in(t);
    callers_.fetch_sub(1, std::memory_order_relaxed);
}

void link::come_in(pending_request& t) {
    const time_point now = time_.now();
    t.began = now;
    lock held(mutex_);
    if (!admit(t, now)) return;
    channel* c = current_;
    if (c == nullptr) {
        held.unlock();
        nudge_.raise();
        await(t);
        return;
    }
    if (c->reader == channel::role::nobody) {
        c->reader = channel::role::caller;
        c->reader_wakes = time_point::min();
        c->returning = 0;
        // A writer that has not left yet looks at the queue once more, and finds this request.
        const bool writes = !c->writing;
        c->writing = true;
        held.unlock();
        lead(t, *c, writes);
        return;
    }
    c->shared = true;
    if (!c->writing && gate_open(*c)) {
        c->writing = true;
        held.unlock();
        write_batches(*c);
    } else {
        held.unlock();
    }
    const auto answered = [&] {
        if (t.settled.load(std::memory_order_acquire)) return true;
        if (!in_a_crowd()) return false;
        look_for_replies(t);
        return t.settled.load(std::memory_order_acquire);
    };
    if (is_crowded() && turns_.until(answered)) return;
    await(t);
}

// One of a crowd whose turn has come before its reply was read looks by itself, and reads for all.
void link::look_for_replies(const pending_request& own) {
    lock held(mutex_);
    channel* const c = current_;
    if (c == nullptr || c->reader != channel::role::thread || c->flying_commands == 0) return;
    reading_lock reading(c->reading_mutex, std::try_to_lock);
    if (!reading || c->ended) return;
    c->looking = true;
    held.unlock();
    ticket_list settled;
    c->ended = !read_replies(*c, settled);
    held.lock();
    c->looking = false;
    if (c->ended) {
        c->broken = true;  // nothing more is written to it
        poke_reader(*c);
    }
    take_off(settled);
    const bool writes = !c->writing && gate_open(*c);
    if (writes) c->writing = true;  // and so it is not gone
    held.unlock();
    reading.unlock();
    if (writes) write_batches(*c);
    settle(settled, &own);
}

// Are there enough callers that one of them is likely to be ready to run?
bool link::is_crowded() const noexcept {
    constexpr std::size_t enough = 3;
    return callers_.load(std::memory_order_relaxed) >= enough;
}

// Are they so many that their turns take longer than the server takes to answer? It would run dry
// before the link's thread has its turn, and the turns of those who wait would be in vain.
bool link::in_a_crowd() const noexcept {
    constexpr std::size_t enough = 24;
    return callers_.load(std::memory_order_relaxed) >= enough;
}

void link::submit(std::unique_ptr<async_ticket> t) {
    const time_point now = time_.now();
    t->began = now;
    lock held(mutex_);
    if (!admit(*t, now)) {
        held.unlock();
        deliver(*t);
        return;
    }
    static_cast<void>(t.release());  // the queue's now; finish() takes it back
    if (!lead_submitted(held)) set_off(held);
}

class link::led_channel final : public detail::inline_io::guest {
public:
    led_channel(link& on, channel& c) : on_(on), c_(c) {}
    [[nodiscard]] int descriptor() const override { return c_.connection->stream().fd(); }
    [[nodiscard]] int bell() const override { return c_.poke.fd(); }
    [[nodiscard]] short expects(time_point& wake) override {
        const lock held(on_.mutex_);
        c_.reader_wakes = std::min(c_.earliest, wake);
        wake = c_.reader_wakes;
        return c_.blocked ? POLLIN | POLLOUT : POLLIN;
    }
    // Completions may run here: nothing is locked by a thread that waits.
    [[nodiscard]] bool serve(short ready, bool rung) override {
        if (rung) c_.poke.clear();
        if (!on_.service(c_, ready, nullptr)) return false;
        on_.write_if_open(c_, 0);
        return true;
    }
    [[nodiscard]] bool busy() const override {
        const lock held(on_.mutex_);
        return c_.flying_commands > 0;
    }
    void leave() noexcept override { on_.leave_unread(c_); }

private:
    link& on_;
    channel& c_;
};

// True: the thread that submits has written, and reads.
bool link::lead_submitted(lock& held) {
    channel* const c = current_;
    detail::inline_io* const turn = detail::inline_io::current();
    if (turn == nullptr || c == nullptr || c->reader != channel::role::nobody) return false;
    c->reader = channel::role::caller;
    c->reader_wakes = time_point::min();
    c->returning = 0;
    c->led_by = turn;
    c->shared = false;
    const bool writes = !std::exchange(c->writing, true);
    held.unlock();
    if (writes && !looks_open(*c, time_.now())) return true;
    if (writes) write_batches(*c);
    turn->add(std::make_unique<led_channel>(*this, *c));
    return true;
}

// False: the server has closed it meanwhile, and it is gone; what is queued gets a new one.
// Requires: this thread has both roles.
bool link::looks_open(channel& c, time_point now) {
    constexpr duration pause = std::chrono::milliseconds(100);
    if (now - c.last_write <= pause || still_open(c)) return true;
    {
        const lock held(mutex_);
        if (c.flying_commands > 0) {  // whoever reads their replies sees the end, too
            c.broken = true;          // and nothing more is written to it
            return true;
        }
    }
    ticket_list nobody;
    reading_lock reading(c.reading_mutex);
    {
        const lock held(mutex_);
        c.writing = false;
    }
    break_channel(c, std::move(reading), nobody);
    return false;
}

void link::begin(pending_request& t) {
    const time_point now = time_.now();
    t.began = now;
    lock held(mutex_);
    if (!admit(t, now)) {
        t.settled.store(true, std::memory_order_release);
        return;
    }
    set_off(held);
}

// Sends on its way what was queued by someone who will not read. Who comes while others are in
// flight writes by itself: to wake the reader for it takes longer.
void link::set_off(lock& held) {
    channel* const c = current_;
    if (c != nullptr && c->reader != channel::role::nobody) {
        const detail::inline_io* const turn = detail::inline_io::current();
        if (turn == nullptr || turn != c->led_by) c->shared = true;
        if (c->writing || !gate_open(*c)) return held.unlock();
        c->writing = true;
        held.unlock();
        return write_batches(*c);
    }
    if (c != nullptr) c->reader = channel::role::thread;
    held.unlock();
    nudge_.raise();
}

// Reads on behalf of all, until its own replies are in.
void link::lead(pending_request& own, channel& c, bool writes) {
    if (writes && !looks_open(c, own.began)) {
        await(own);
        return;
    }
    if (writes) write_batches(c);
    while (!own.settled.load(std::memory_order_acquire)) {
        const short ready = wait_ready(c, own.give_up);
        if (!service(c, ready, &own)) {
            await(own);
            return;
        }
        if (!own.settled.load(std::memory_order_acquire) && time_.now() >= own.give_up) {
            break;
        }
    }
    pass_reading(c);
    await(own);
}

void link::retire_before(time_point moment, const server_address* spared) {
    const lock held(mutex_);
    channel* const c = current_;
    if (c == nullptr || c->born >= moment) return;
    if (spared != nullptr && c->connection->address() == *spared) return;
    c->retired = true;
    c->earliest = time_point::min();  // so that the reader counts who still waits
    current_ = nullptr;
    if (c->reader == channel::role::nobody) c->reader = channel::role::thread;
    poke_reader(*c);
    nudge_.raise();
}

void link::pass_reading(channel& c) {
    const lock held(mutex_);
    const bool idle = c.flying_commands == 0 && (queue_.empty() || current_ != &c);
    if (idle && !c.retired) {
        c.reader = channel::role::nobody;
        c.returning = 0;
        return;
    }
    c.reader = channel::role::thread;
    c.lonely_rounds = 0;
    nudge_.raise();
}

// To wake the thread for replies that nobody waits for would cost more than all the rest: most of
// the time somebody comes before it looks up, and reads them. Whoever takes the reader's role from
// nobody takes the writer's, too.
void link::leave_unread(channel& c) {
    {
        const lock held(mutex_);
        const bool usable = current_ == &c && !c.broken && !c.blocked && !c.writing;
        if (usable && !c.shared && queue_.empty() && c.flying_commands > 0) {
            c.reader = channel::role::nobody;
            c.returning = 0;
            c.left_unread = time_.now();
            if (thread_wakes_ > c.left_unread + unread_at_most) nudge_.raise();
            return;
        }
    }
    pass_reading(c);
}

void link::poke_reader(channel& c) noexcept {
    if (c.reader == channel::role::thread) nudge_.raise();
    if (c.reader == channel::role::caller) c.poke.raise();
}

bool link::withdraw(pending_request& t) {
    const lock held(mutex_);
    if (t.where == pending_request::place::queued) {
        queue_.remove(t);
        queued_commands_ -= t.expected;
        fail_ticket(
            t, errc::timed_out,
            current_ != nullptr ? "queue: not written in time" : "connect: no connection in time");
        return true;
    }
    if (t.where == pending_request::place::flying) poke_reader(*t.on);
    return false;
}

// A queued command is withdrawn by its own thread. One in flight is settled by the reader, which is
// reminded, in case it sleeps longer than this caller wants to.
void link::await(pending_request& t) {
    constexpr duration reminder = std::chrono::milliseconds(5);
    const std::atomic<std::uint32_t>& word = cohorts_[t.cohort];
    while (true) {
        const std::uint32_t seen = word.load(std::memory_order_acquire);
        if (t.settled.load(std::memory_order_acquire)) return;
        const time_point now = time_.now();
        if (now < t.give_up) {
            futex_wait(word, seen, timeout_until(t.give_up, now));
            continue;
        }
        if (withdraw(t)) return;
        futex_wait(word, seen, timeout_until(now + reminder, now));
    }
}

}  // namespace holdfast::redis

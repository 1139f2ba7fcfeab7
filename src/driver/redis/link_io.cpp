// SPDX-License-Identifier: Apache-2.0
//
// Writing and reading, by whichever thread has the role.
//
// Invariants. A request that is `queued` belongs to the mutex; `encoding`, to the writer; `flying`,
// to the reader, who alone settles it. Replies come in the order of the bytes, and a request is put
// on `flying` before its bytes are sent, so a reply always finds its request. Only the reader ends
// a channel, and it waits for the writer to leave first.
#include "driver/redis/encode.hpp"
#include "driver/redis/link.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace holdfast::redis {
namespace {

// Below this, waiting for each other costs more than it saves.
constexpr std::size_t worth_gathering = 12;

// A larger batch costs the server no less per command, and lets it run dry meanwhile.
constexpr std::size_t full_batch = 16;

// For so long the end of a connection that was given up is asked for again if it is not answered.
constexpr duration farewell_time = std::chrono::seconds(30);

// So many connections are remembered that are still to be ended at the server.
constexpr std::size_t most_farewells = 64;

}  // namespace

bool link::gate_open(const channel& c) const noexcept {
    if (current_ != &c || c.broken || c.blocked || queue_.empty()) return false;
    // A command that has no room must not keep the writer busy, who may be the reader too.
    const std::size_t sum = c.flying_bytes + queue_.front()->bytes;
    if (sum > profile_.options.max_in_flight_bytes && c.flying_commands > 0) return false;
    if (queued_commands_ * 2 < c.returning) return false;
    return c.flying_tickets <= 1 || queued_commands_ >= std::min(c.flying_commands, full_batch);
}

void link::take_batch(channel& c, ticket_list& batch) {
    std::size_t bytes = 0;
    std::size_t commands = 0;
    while (!queue_.empty()) {
        pending_request& t = *queue_.front();
        const bool first = c.flying_commands + commands == 0;
        const std::size_t sum = c.flying_bytes + bytes + t.bytes;
        if (!first && sum > profile_.options.max_in_flight_bytes) break;
        queue_.pop_front();
        t.where = pending_request::place::encoding;
        batch.push_back(t);
        bytes += t.bytes;
        commands += t.expected;
        ++c.flying_tickets;
        if (t.submitted) --submitted_queued_;
    }
    queued_commands_ -= commands;
    cohort_ = (cohort_ + 1) % cohort_count;
    c.returning = 0;
    c.flying_commands += commands;
    c.flying_bytes += bytes;
    if (commands == 0) return;
    counts_.batches.add();
    counts_.batch_size.add(commands);
    counts_.bytes_out.add(bytes);
}

void link::publish_batch(channel& c, ticket_list& batch) {
    const time_point now = time_.now();
    const time_point latest = now + profile_.options.reply_timeout;
    std::uint64_t at = c.encoded;
    for (pending_request* t = batch.front(); t != nullptr; t = t->next) {
        t->begins_at = at;
        at += t->bytes;
        t->where = pending_request::place::flying;
        t->on = &c;
        t->deadline = std::min(t->give_up, latest);
        c.earliest = std::min(c.earliest, t->deadline);
    }
    c.encoded = at;
    c.last_write = now;
    c.flying.splice(batch);
    if (c.earliest < c.reader_wakes) poke_reader(c);
}

// Requires: this thread has the writer's role; it is given up on return. The gate was open when the
// role was taken.
void link::write_batches(channel& c) {
    for (bool first = true;; first = false) {
        ticket_list batch;
        {
            const lock held(mutex_);
            const bool usable = !c.broken && current_ == &c && !queue_.empty();
            const bool go = first ? usable : gate_open(c);
            if (!go) {
                c.writing = false;
                if (c.broken) writer_left_.notify_all();
                return;
            }
            take_batch(c, batch);
        }
        c.out.clear();
        c.out_sent = 0;
        for (const pending_request* t = batch.front(); t != nullptr; t = t->next) {
            c.out.append(t->raw);
            for (const command& one : t->commands) append_command(c.out, one.args);
        }
        {
            const lock held(mutex_);
            publish_batch(c, batch);
        }
        send_out(c);
    }
}

void link::send_out(channel& c) {
    while (c.out_sent < c.out.size()) {
        const io_step step =
            c.connection->stream().write({c.out.data() + c.out_sent, c.out.size() - c.out_sent});
        if (step.what == io_step::kind::moved) {
            c.out_sent += step.bytes;
            c.written += step.bytes;
            continue;
        }
        const lock held(mutex_);
        if (step.what == io_step::kind::again) {
            c.blocked = true;
            poke_reader(c);
            return;
        }
        c.written += step.bytes;
        c.broken = true;
        c.reason = step.reason.empty() ? "the server closed the connection" : step.reason;
        c.connection->stream().shut_down();  // the reader sees the end, and cleans up
        return;
    }
    if (c.blocked) {
        const lock held(mutex_);
        c.blocked = false;
    }
}

// A server may have closed a connection while nobody read from it. Looking costs a system call, so
// it is done only after a pause; writing into the closed connection would make an outcome unknown
// that can be known.
bool link::still_open(channel& c) {
    char byte = 0;
    const ssize_t got = ::recv(c.connection->stream().fd(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// False: the connection is at its end.
bool link::read_replies(channel& c, ticket_list& settled) {
    while (true) {
        const io_step step = c.connection->stream().read(c.room);
        if (step.what == io_step::kind::again) return true;
        if (step.what != io_step::kind::moved) {
            const lock held(mutex_);
            if (c.reason.empty()) {
                c.reason = step.reason.empty() ? "the server closed the connection" : step.reason;
            }
            return false;
        }
        counts_.bytes_in.add(step.bytes);
        c.connection->replies().feed({c.room.data(), step.bytes});
        if (!match_replies(c, settled)) return false;
        // A plain socket that gave less than asked for is empty; TLS may still hold a record.
        if (profile_.tls == nullptr && step.bytes < c.room.size()) return true;
    }
}

bool link::match_replies(channel& c, ticket_list& settled) {
    {
        const lock held(mutex_);
        c.reading.splice(c.flying);
    }
    const bool alone = c.reading.front() != nullptr && c.reading.front()->next == nullptr;
    std::size_t commands = 0;
    std::size_t pending_requests = 0;
    std::size_t bytes = 0;
    while (auto one = c.connection->replies().next()) {
        pending_request* t = c.reading.front();
        if (t == nullptr) {
            const lock held(mutex_);
            c.reason = "a reply that nobody had asked for";
            return false;
        }
        if (t->answered < t->replies.size()) t->replies[t->answered] = std::move(*one);
        ++commands;
        if (++t->answered < t->expected) continue;
        ++pending_requests;
        bytes += t->bytes;
        c.reading.remove(*t);
        if (t->replies.empty()) {
            delete t;  // its caller left; see expire()
        } else {
            settled.push_back(*t);
        }
    }
    counts_.answered.add(commands);
    const lock held(mutex_);
    // Replies that were left to come tell nothing of the time they took.
    if (commands > 0 && c.flying_commands > 0 && c.left_unread < c.last_write) {
        const auto trip =
            std::chrono::floor<std::chrono::microseconds>(time_.now() - c.last_write).count();
        counts_.round_trip_us.add(static_cast<std::uint64_t>(trip));
        c.lonely_rounds = alone ? c.lonely_rounds + 1 : 0;
    }
    c.flying_tickets -= pending_requests;
    c.flying_commands -= commands;
    c.flying_bytes -= bytes;
    if (c.flying_commands == 0) c.earliest = time_point::max();
    if (c.connection->replies().problem().empty()) return true;
    c.reason = c.connection->replies().problem();
    return false;
}

// Gives up on what is in flight past its deadline. The reply may still come, so something must
// stand in the request's place; and the connection is used for nothing new.
void link::expire(channel& c, time_point now, ticket_list& settled) {
    const lock held(mutex_);
    if (now < c.earliest) return;
    c.reading.splice(c.flying);
    c.earliest = time_point::max();
    for (pending_request* t = c.reading.front(); t != nullptr;) {
        pending_request* const next = t->next;
        if (!t->replies.empty() && t->deadline <= now) {
            auto* const stand_in = new pending_request;
            stand_in->expected = t->expected - t->answered;
            stand_in->bytes = t->bytes;
            stand_in->begins_at = t->begins_at;
            stand_in->deadline = time_point::max();
            c.reading.replace(*t, *stand_in);
            for (std::size_t i = t->answered; i < t->expected; ++i) {
                t->replies[i] =
                    fail(errc::outcome_unknown, describe(*t, i, &c, "reply: no answer in time"));
                counts_.unknown.add();
            }
            t->answered = t->expected;
            settled.push_back(*t);
            c.retired = true;
            if (current_ == &c) current_ = nullptr;
        } else {
            c.earliest = std::min(c.earliest, t->deadline);
        }
        t = next;
    }
    if (c.retired && !queue_.empty()) nudge_.raise();
}

// Their threads are told later, and may look in before: not at a channel that is gone by then.
// Requires: the mutex is held.
void link::take_off(ticket_list& settled) noexcept {
    for (pending_request* t = settled.front(); t != nullptr; t = t->next) {
        t->where = pending_request::place::outside;
        t->on = nullptr;
    }
}

// The command that ends a connection at the server. By id and address: after a restart the id alone
// could be somebody else's.
std::unique_ptr<async_ticket> link::farewell_to(const wire::server_side& connection) {
    auto t = pool_.take();
    const std::array<std::string_view, 6> kill{"CLIENT",      "KILL", "ID",
                                               connection.id, "ADDR", connection.address};
    append_command(t->storage, kill);
    t->name_storage = kill[0];
    t->again = repeat::idempotent;
    t->done = [](const result<reply>&) {};
    t->raw = t->storage;
    t->raw_name = t->name_storage;
    t->bytes = t->storage.size();
    t->expected = t->replies_to_come();
    t->replies = {t->slots, t->expected};
    t->began = time_.now();
    t->give_up = t->began + farewell_time;
    t->submitted = true;
    return t;
}

// Puts what ends connections that were given up before all else that is queued. By itself it makes
// no connection: whoever asks again does.
// Requires: the mutex is held, and there is a connection.
void link::queue_farewells() {
    ticket_list later;
    later.splice(queue_);
    for (const wire::server_side& connection : std::exchange(given_up_, {})) {
        auto t = farewell_to(connection);
        if (admit(*t, t->began)) static_cast<void>(t.release());
    }
    queue_.splice(later);
}

// Requires: this thread is the reader. The channel is gone afterwards.
void link::break_channel(channel& c, reading_lock reading, ticket_list& settled) {
    lock held(mutex_);
    c.broken = true;
    writer_left_.wait(held, [&] { return !c.writing; });
    if (current_ == &c) current_ = nullptr;
    const bool given_up = c.reason.empty();
    const std::string reason = given_up ? "the connection was given up" : c.reason;
    c.reading.splice(c.flying);
    const bool unanswered = !c.reading.empty();
    while (pending_request* t = c.reading.pop_front()) {
        if (t->replies.empty()) {
            delete t;
            continue;
        }
        // A command whose last byte had not left cannot have been carried out.
        std::uint64_t end = t->begins_at;
        for (std::size_t i = 0; i < t->expected; ++i) {
            if (t->raw.empty())
                end += encoded_size(t->commands[i].args);
            else
                end = t->begins_at + t->raw_end(i);
            if (i < t->answered) continue;
            const bool sent = end <= c.written;
            (sent ? counts_.unknown : counts_.not_sent).add();
            t->replies[i] = fail(sent ? errc::outcome_unknown : errc::unavailable,
                                 describe(*t, i, &c, (sent ? "reply: " : "write: ") + reason));
        }
        t->answered = t->expected;
        t->lost = true;
        settled.push_back(*t);
    }
    take_off(settled);
    counts_.disconnects.add();
    counts_.open_connections.take();
    reading.unlock();  // nobody finds it any more
    if (unanswered) c.connection->stream().drop_unsent();
    if (unanswered && given_up && !stopping_ && !c.connection->known_as().id.empty()) {
        if (given_up_.size() == most_farewells) given_up_.erase(given_up_.begin());
        given_up_.push_back(c.connection->known_as());
    }
    drop(c);
    if (current_ != nullptr && !given_up_.empty()) {
        queue_farewells();
        set_off(held);
    } else if (!queue_.empty()) {
        nudge_.raise();
    }
}

// A retired channel is kept as long as someone waits for a reply on it.
bool link::wanted(const channel& c) const {
    const lock held(mutex_);
    if (!c.retired || c.writing) return true;
    for (const ticket_list* list : {&c.reading, &c.flying}) {
        for (const pending_request* t = list->front(); t != nullptr; t = t->next) {
            if (!t->replies.empty()) return true;
        }
    }
    return false;
}

short link::wait_ready(channel& c, time_point limit) {
    pollfd both[2] = {{.fd = c.connection->stream().fd(), .events = POLLIN, .revents = 0},
                      {.fd = c.poke.fd(), .events = POLLIN, .revents = 0}};
    timespec left{};
    {
        const lock held(mutex_);
        if (c.blocked) both[0].events = POLLIN | POLLOUT;
        const time_point now = time_.now();
        c.reader_wakes = std::min(c.earliest, limit);
        left = timeout_until(c.reader_wakes, now);
    }
    const int ready = detail::poll_with_yield(lone_turns_, both, left);
    if (ready > 0 && both[1].revents != 0) c.poke.clear();
    return ready > 0 ? both[0].revents : short{0};
}

// One round of the reader: what can be read is read, what is late is given up, what waits is sent,
// and then those who have their replies are woken. False: the channel is gone.
bool link::service(channel& c, short ready, const pending_request* own) {
    ticket_list settled;
    if ((ready & POLLOUT) != 0) send_out(c);
    reading_lock reading(c.reading_mutex);
    bool alive = !c.ended;
    if (alive && (ready & (POLLIN | POLLHUP | POLLERR)) != 0) alive = read_replies(c, settled);
    if (alive) expire(c, time_.now(), settled);
    if (!alive || !wanted(c)) {
        break_channel(c, std::move(reading), settled);
        settle(settled, own);
        return false;
    }
    reading.unlock();
    std::size_t threads = 0;
    for (const pending_request* t = settled.front(); t != nullptr; t = t->next)
        threads += !t->submitted;
    const bool gather = own == nullptr && threads >= worth_gathering;
    write_if_open(c, gather ? threads : 0);
    settle(settled, own);
    if (gather) {
        ::sched_yield();
        write_if_open(c, 0);
    }
    return true;
}

void link::write_if_open(channel& c, std::size_t woken) {
    lock held(mutex_);
    c.reader_wakes = time_point::min();
    c.returning = 0;
    if (!c.writing && gate_open(c)) {
        c.writing = true;
        held.unlock();
        write_batches(c);
        held.lock();
    }
    c.returning = woken;
}

}  // namespace holdfast::redis

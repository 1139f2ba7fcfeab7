// SPDX-License-Identifier: Apache-2.0
//
// Connecting, and reading by whoever has the role: the thread, or a caller that waits for a push.
//
// A silent connection is asked by PING after reply_timeout, and given up after as long again: else
// a peer that vanished without a word would be listened to for ever.
#include "core/hash_slot.hpp"
#include "driver/redis/encode.hpp"
#include "driver/redis/subscriber.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace holdfast::redis {
namespace {

// "MOVED 3999 127.0.0.1:6381": an SSUBSCRIBE came to the wrong node.
bool moved_slot(std::string_view text, unsigned& slot) {
    constexpr std::string_view word = "MOVED ";
    if (!text.starts_with(word)) return false;
    const char* const begin = text.data() + word.size();
    return std::from_chars(begin, text.data() + text.size(), slot).ec == std::errc();
}

}  // namespace

void subscriber::serve() {
    while (true) {
        {
            const lock held(mutex_);
            if (stopping_) return;
        }
        if (reconnect()) listen();
    }
}

// True: connected, and subscribing to everything is under way.
bool subscriber::reconnect() {
    const time_point deadline = time_.now() + profile_.options.connect_timeout;
    const patience go_on = [this] {
        const lock held(mutex_);
        return !stopping_;
    };
    auto address = where_(deadline);
    result<std::unique_ptr<wire>> made = std::unexpected(error{errc::unavailable, {}});
    if (address)
        made = wire::open(*address, profile_, deadline, time_, go_on);
    else
        made = std::unexpected(address.error());

    lock held(mutex_);
    if (!made) {
        counts_->connect_failures.add();
        problem_ = made.error().detail;
        problem_code_ = made.error().code;
        changed_.notify_all();
        back_off(held);
        return false;
    }
    connection_ = std::move(*made);
    counts_->connects.add();
    counts_->open_connections.add();
    problem_.clear();
    out_.clear();
    out_sent_ = 0;
    pending_.clear();
    asked_.clear();
    pinged_ = false;
    heard_at_ = time_.now();
    renewing_ = false;
    up_ = true;
    reader_ = role::thread;
    for (const channel_scope scope : {channel_scope::global, channel_scope::sharded}) {
        std::vector<std::string> all;
        for (auto& [k, t] : topics_) {
            if (k.scope != scope) continue;
            t.confirmed = false;
            ++asked_[k];
            all.push_back(k.channel);
        }
        queue_words(verb_of(scope, true), scope, all);
    }
    return true;
}

// Longer each time, until a subscription is confirmed: a server that takes connections and refuses
// every SUBSCRIBE is not asked in a loop.
void subscriber::back_off(lock& held) {
    const auto& o = profile_.options;
    backoff_ = std::clamp(backoff_ * 2, o.backoff_min, o.backoff_max);
    const auto half = static_cast<std::uint64_t>(backoff_.count()) / 2 + 1;
    const time_point next =
        time_.now() + backoff_ / 2 + duration(static_cast<duration::rep>(chance_.below(half)));
    while (!stopping_ && time_.now() < next) time_.wait_until(held, changed_, next);
}

void subscriber::lose(std::string reason) {
    {
        const lock held(mutex_);
        up_ = false;
        for (auto& [k, t] : topics_) t.confirmed = false;
        problem_ = fmt::format("redis {}: {}", to_string(connection_->address()), reason);
        problem_code_ = errc::unavailable;
        connection_.reset();
        counts_->disconnects.add();
        counts_->open_connections.take();
    }
    if (profile_.tracked_prefix) tell_gap();
}

void subscriber::listen() {
    while (true) {
        {
            lock held(mutex_);
            if (std::exchange(give_up_reading_, false)) {
                reader_ = role::nobody;
                last_round_ = time_.now();
                changed_.notify_all();
            }
            while (reader_ != role::thread && up_) doze(held);
            if (!up_) return;  // lost by a caller
            if (stopping_) break;
            if (renewing_) {
                held.unlock();
                return lose("the server is not the one to listen to any more");
            }
        }
        if (read_round(time_point::max(), {nudge_}) == round_end::lost) return;
    }
    lose("the client was closed");
}

// The thread while it does not read: it comes back when it is needed, or nobody has read for long.
void subscriber::doze(lock& held) {
    constexpr duration nobody_for_long = std::chrono::milliseconds(100);
    const bool needed = !pending_.empty() || stopping_ || renewing_ || !one_listens();
    if (reader_ == role::nobody && (needed || time_.now() - last_round_ > nobody_for_long)) {
        reader_ = role::thread;
        lone_callers_ = 0;
        return;
    }
    pollfd one{.fd = nudge_.fd(), .events = POLLIN, .revents = 0};
    const time_point now = time_.now();
    const duration rest = reader_ == role::caller ? 10 * nobody_for_long : nobody_for_long;
    const timespec left = timeout_until(now + rest, now);
    held.unlock();
    if (::ppoll(&one, 1, &left, nullptr) > 0) nudge_.clear();
    held.lock();
}

// Requires: the mutex is held.
void subscriber::wake_reader() noexcept {
    nudge_.raise();
    if (reader_ == role::caller) poke_.raise();
}

// The thread gives it up to those who came alone for a while. It does so at once, or not at all:
// nobody may sleep for a push that nobody hears.
bool subscriber::ask_for_reading(lock& held) {
    constexpr int enough = 3;
    constexpr duration at_once = std::chrono::milliseconds(2);
    if (++lone_callers_ < enough) return false;
    give_up_reading_ = true;
    nudge_.raise();
    const time_point limit = time_.now() + at_once;
    while (reader_ == role::thread && give_up_reading_ && time_.now() < limit) {
        time_.wait_until(held, changed_, limit);
    }
    give_up_reading_ = false;
    lone_callers_ = 0;
    return reader_ == role::nobody && up_ && !stopping_ && !renewing_;
}

// Does nobody listen but the caller that waits? Requires: the mutex is held.
bool subscriber::one_listens() const noexcept {
    return topics_.size() == 1 && topics_.begin()->second.told->size() == 1;
}

// May the caller read? If not, the thread does, from now on.
bool subscriber::take_reading(const push_wait& wait) {
    const bool alone = wait.alone();
    lock held(mutex_);
    if (!up_ || stopping_ || renewing_ || reader_ == role::caller) return false;
    if (!alone || !one_listens()) {
        lone_callers_ = 0;
        if (reader_ == role::nobody) {
            reader_ = role::thread;
            nudge_.raise();
        }
        return false;
    }
    if (reader_ == role::thread && !ask_for_reading(held)) return false;
    reader_ = role::caller;
    return true;
}

void subscriber::leave_reading(bool alone) {
    const lock held(mutex_);
    reader_ = alone && up_ && one_listens() ? role::nobody : role::thread;
    if (reader_ == role::thread) nudge_.raise();
    if (stopping_) changed_.notify_all();
}

bool subscriber::attend(const push_wait& wait) {
    if (!take_reading(wait)) return false;
    const int wake_fd = wait.wake_fd();
    bool good = true;
    while (good && !wait.over() && time_.now() < wait.until) {
        {
            const lock held(mutex_);
            if (stopping_ || renewing_ || !one_listens()) break;
        }
        good = read_round(wait.until, {poke_, wake_fd}) == round_end::quiet;
    }
    leave_reading(wait.alone());
    return true;
}

// One round of whoever reads: what is pending is written, what comes is told.
subscriber::round_end subscriber::read_round(time_point until, bells by) {
    if (!write_pending()) return round_end::lost;
    const bool blocked = out_sent_ < out_.size();
    const short wanted = blocked ? POLLIN | POLLOUT : POLLIN;
    std::array<pollfd, 3> fds{pollfd{connection_->stream().fd(), wanted, 0},
                              pollfd{by.own.fd(), POLLIN, 0}, pollfd{by.other, POLLIN, 0}};
    const duration patience_left = profile_.options.reply_timeout;
    const time_point now = time_.now();
    // Nobody may have read for a while: the silence was ours.
    if (now - last_round_ > patience_left / 2) {
        heard_at_ = now;
        pinged_ = false;
    }
    const time_point limit = heard_at_ + (pinged_ ? 2 : 1) * patience_left;
    const timespec left = timeout_until(std::min(limit, until), now);
    const int ready = ::ppoll(fds.data(), fds.size(), &left, nullptr);
    last_round_ = time_.now();
    if (ready > 0 && fds[1].revents != 0) by.own.clear();
    if (ready > 0 && fds[0].revents != 0 && !read_pushed()) return round_end::lost;
    if (last_round_ < limit) return round_end::quiet;
    if (pinged_) {
        lose("reply: a subscriber's PING was not answered");
        return round_end::lost;
    }
    pinged_ = true;
    const lock held(mutex_);
    append_command(pending_, std::array<std::string_view, 1>{"PING"});
    return round_end::quiet;
}

bool subscriber::write_pending() {
    if (out_sent_ == out_.size()) {
        out_.clear();
        out_sent_ = 0;
        const lock held(mutex_);
        out_.swap(pending_);
    }
    while (out_sent_ < out_.size()) {
        const io_step step =
            connection_->stream().write({out_.data() + out_sent_, out_.size() - out_sent_});
        if (step.what == io_step::kind::again) return true;
        if (step.what != io_step::kind::moved) {
            lose("write: the connection broke");
            return false;
        }
        out_sent_ += step.bytes;
    }
    return true;
}

bool subscriber::read_pushed() {
    std::array<char, 16384> room;
    while (true) {
        const io_step step = connection_->stream().read(room);
        if (step.what == io_step::kind::again) return true;
        if (step.what != io_step::kind::moved) {
            lose("reply: the server closed the connection");
            return false;
        }
        heard_at_ = time_.now();
        pinged_ = false;
        counts_->bytes_in.add(step.bytes);
        const std::string_view bytes(room.data(), step.bytes);
        const auto message = connection_->replies().idle() ? lone_message(bytes) : std::nullopt;
        if (message) {
            deliver(*message);
        } else if (!read_replies(bytes)) {
            return false;
        }
        // A plain socket that gave less than asked for is empty; TLS may still hold a record.
        if (profile_.tls == nullptr && step.bytes < room.size()) return true;
    }
}

bool subscriber::read_replies(std::string_view bytes) {
    reply_reader& replies = connection_->replies();
    replies.feed(bytes);
    while (const auto pushed = replies.next()) {
        unsigned slot = 0;
        if (pushed->is_error() && moved_slot(pushed->text(), slot)) {
            forget_moved([slot](const key& k, const topic&) {
                return k.scope == channel_scope::sharded && hash_slot(k.channel) == slot;
            });
            continue;
        }
        // Else only a refused SUBSCRIBE answers with an error here (an ACL without the channel).
        if (pushed->is_error()) {
            const error e = to_error(*pushed);
            lose("SUBSCRIBE: " + e.detail);
            lock held(mutex_);
            problem_code_ = e.code;
            changed_.notify_all();
            back_off(held);
            return false;
        }
        dispatch(*pushed);
    }
    if (replies.problem().empty()) return true;
    lose("reply: " + std::string(replies.problem()));
    return false;
}

}  // namespace holdfast::redis

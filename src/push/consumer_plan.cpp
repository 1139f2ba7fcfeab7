// SPDX-License-Identifier: Apache-2.0
#include "push/consumer_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::push {
namespace {

using namespace std::chrono_literals;

// A fresh message looks for itself whether an operator has ended the cooldown, but not each of a
// thousand a second does.
constexpr duration trust_look = 50ms;
// And what waits for a long cooldown looks this often whether it was ended.
constexpr duration longest_look = 1s;
constexpr duration first_retry = 20ms;
constexpr duration last_retry = 250ms;

}  // namespace

consumer_plan::consumer_plan(std::size_t number, const settings& s, log_sink log, counters& counts)
    : name_(fmt::format("[Consumer {}] ", number)),
      settings_(s),
      log_(std::move(log)),
      counts_(counts) {}

void consumer_plan::say(log_level level, std::string_view text) const {
    if (log_) log_(level, name_ + std::string(text));
}

bool consumer_plan::take(queue_entry entry, time_point now) {
    if (!ids_.insert(entry.id).second) return false;
    ++counts_.received;
    say(log_level::info, fmt::format("Received PushMsg: {}", entry.room));
    if (!entry.duplicate.empty()) {
        say(log_level::warning, fmt::format("Duplicate message skipped: {}", entry.duplicate));
        finish(entry);
        return true;
    }
    const std::string room = entry.room;
    const auto [at, fresh] = rooms_.try_emplace(room);
    room_work& work = at->second;
    if (fresh) work.due = now;
    work.entries.push_back(std::move(entry));
    if (!work.deferred) return true;
    if (now - work.looked < trust_look && policy_of(settings_, room).mode != mode::drop) {
        announce_deferred(room, work);
    } else {
        work.due = std::min(work.due, now);
    }
    return true;
}

std::vector<std::string> consumer_plan::due(time_point now) const {
    std::vector<std::pair<time_point, std::string>> found;
    for (const auto& [room, work] : rooms_) {
        if (work.due <= now) found.emplace_back(work.due, room);
    }
    std::ranges::sort(found);
    std::vector<std::string> names;
    for (auto& [when, room] : found) names.push_back(std::move(room));
    return names;
}

time_point consumer_plan::wake() const {
    time_point first = time_point::max();
    for (const auto& [room, work] : rooms_) first = std::min(first, work.due);
    return first;
}

void consumer_plan::finish(queue_entry& entry) {
    ids_.erase(entry.id);
    acknowledged_.push_back(std::move(entry.id));
}

// Entries that the cursor has passed are done, whoever has broadcast them.
void consumer_plan::drop_passed(room_work& work, std::uint64_t cursor, bool acknowledged) {
    std::deque<queue_entry> left;
    std::size_t announced = 0;
    for (std::size_t i = 0; i < work.entries.size(); ++i) {
        queue_entry& entry = work.entries[i];
        if (entry.last > cursor) {
            if (i < work.announced) ++announced;
            left.push_back(std::move(entry));
        } else if (acknowledged) {
            ids_.erase(entry.id);
        } else {
            finish(entry);
        }
    }
    work.entries = std::move(left);
    work.announced = announced;
}

// The engine has lost some of the room, or all of it: what is left of the entries is in the epoch
// that there is now.
void consumer_plan::adopt_epoch(room_work& work, const room_view& seen) {
    for (queue_entry& entry : work.entries) {
        if (entry.epoch == seen.epoch) continue;
        entry.epoch = seen.epoch;
        entry.last = std::min(entry.last, seen.tail);
        entry.first = std::min(entry.first, entry.last);
    }
}

void consumer_plan::count_skipped(const std::string& room) {
    ++counts_.skipped;
    counts_.board.add(room, &room_figures::skipped);
    say(log_level::info, fmt::format("Room in cooldown, skipping: {}", room));
}

void consumer_plan::skip_in_cooldown(const std::string& room, room_work& work) {
    std::deque<queue_entry> left;
    for (queue_entry& entry : work.entries) {
        if (entry.important) {
            left.push_back(std::move(entry));
            continue;
        }
        count_skipped(room);
        finish(entry);
    }
    work.entries = std::move(left);
    work.announced = std::min(work.announced, work.entries.size());
}

void consumer_plan::announce_deferred(const std::string& room, room_work& work) {
    for (; work.announced < work.entries.size(); ++work.announced) {
        ++counts_.deferred;
        counts_.board.add(room, &room_figures::deferred);
        say(log_level::info, fmt::format("Room in cooldown, deferred: {}", room));
    }
    work.deferred = true;
}

consumer_plan::verdict consumer_plan::looked(const std::string& room, const room_view& seen,
                                             time_point now) {
    const auto at = rooms_.find(room);
    if (at == rooms_.end()) return verdict::wait;
    room_work& work = at->second;
    const room_policy policy = policy_of(settings_, room);
    adopt_epoch(work, seen);

    if (policy.mode == mode::drop && seen.cooldown_ms != -2) {
        skip_in_cooldown(room, work);
    } else if (policy.mode == mode::drop) {
        // A later one has overtaken them, and said so in its frame.
        for (const queue_entry& entry : work.entries) {
            if (entry.last > seen.cursor) continue;
            count_skipped(room);
        }
    }
    drop_passed(work, seen.cursor, false);
    if (work.entries.empty()) {
        rooms_.erase(at);
        return verdict::wait;
    }
    if (seen.cooldown_ms == -2 || policy.mode == mode::none) return verdict::acquire;

    defer(room, work, seen.cooldown_ms, now);
    return verdict::wait;
}

void consumer_plan::defer(const std::string& room, room_work& work, std::int64_t cooldown_ms,
                          time_point now) {
    announce_deferred(room, work);
    work.looked = now;
    const duration left = std::chrono::milliseconds(cooldown_ms + 1);
    work.due =
        now + std::min(cooldown_ms < 0 ? policy_of(settings_, room).cooldown : left, longest_look);
}

void consumer_plan::lock_acquired(const std::string& room) {
    say(log_level::info, fmt::format("Lock acquired: lock:broadcast:{}", room));
    if (const auto at = rooms_.find(room); at != rooms_.end()) at->second.busy_told = false;
}

void consumer_plan::retry(room_work& work, time_point now) {
    work.due = now + std::min(first_retry * (1U << std::min(work.tries, 4U)), last_retry);
    ++work.tries;
}

void consumer_plan::lock_busy(const std::string& room, time_point now) {
    const auto at = rooms_.find(room);
    if (at == rooms_.end()) return;
    if (!at->second.busy_told) {
        ++counts_.contended;
        counts_.board.add(room, &room_figures::contended);
        say(log_level::info, fmt::format("Another consumer is processing room: {}", room));
        at->second.busy_told = true;
    }
    retry(at->second, now);
}

broadcast_order consumer_plan::order(const std::string& room) const {
    const room_work& work = rooms_.at(room);
    const room_policy policy = policy_of(settings_, room);
    const queue_entry& head = work.entries.front();
    broadcast_order made{.epoch = head.epoch,
                         .mode = policy.mode,
                         .all = work.deferred || policy.mode == mode::none,
                         .more = work.more,
                         .first = head.first,
                         .last = head.last,
                         .entries = {}};
    if (policy.mode != mode::none) made.cooldown = policy.cooldown;
    for (const queue_entry& entry : work.entries) {
        if (entry.epoch == head.epoch) made.entries.emplace_back(entry.id, entry.last);
    }
    return made;
}

consumer_plan::next_step consumer_plan::broadcast(const std::string& room,
                                                  const broadcast_answer& answer, time_point now) {
    const auto at = rooms_.find(room);
    if (at == rooms_.end()) return next_step::release;
    room_work& work = at->second;
    using kind = broadcast_answer::kind;
    if (answer.what == kind::fenced) {
        ++counts_.fenced;
        failed(room, "a later holder of the lock was there", now);
        return next_step::release;
    }
    if (answer.what == kind::gone) {  // look which epoch there is
        work.due = now;
        return next_step::release;
    }
    if (answer.what == kind::cooling) {
        work.tries = 0;
        if (policy_of(settings_, room).mode == mode::drop) skip_in_cooldown(room, work);
        if (!work.entries.empty()) defer(room, work, answer.cooldown_ms, now);
        return next_step::release;
    }
    if (answer.what == kind::sent) {
        ++counts_.broadcasts;
        counts_.broadcast_messages += answer.count;
        counts_.queue_us += answer.waited_ms * 1000;
        counts_.board.add(room, &room_figures::frames);
        counts_.board.add(room, &room_figures::sent, answer.count);
        counts_.board.add(room, &room_figures::wait_ms, answer.waited_ms);
        say(log_level::info, fmt::format("Message distributed: sent={}", answer.viewers));
    }
    drop_passed(work, answer.cursor, true);
    work.tries = 0;
    const bool more = answer.what == kind::sent && answer.cursor < answer.tail &&
                      (work.deferred || policy_of(settings_, room).mode == mode::none) &&
                      policy_of(settings_, room).mode != mode::drop && !work.entries.empty();
    work.more = more;
    if (!more) {
        work.deferred = false;
        work.due = now;
    }
    return more ? next_step::again : next_step::release;
}

void consumer_plan::lock_released(const std::string& room) {
    say(log_level::info, "Lock released");
    const auto at = rooms_.find(room);
    if (at == rooms_.end()) return;
    at->second.more = false;
    if (at->second.entries.empty()) rooms_.erase(at);
}

void consumer_plan::failed(const std::string& room, std::string_view why, time_point now) {
    ++counts_.broadcast_failures;
    counts_.board.add(room, &room_figures::failures);
    say(log_level::error, fmt::format("Broadcast failed: {}", why));
    if (const auto at = rooms_.find(room); at != rooms_.end()) retry(at->second, now);
}

std::vector<std::string> consumer_plan::take_acknowledged() {
    return std::exchange(acknowledged_, {});
}

std::vector<std::string> consumer_plan::pending() const {
    return {ids_.begin(), ids_.end()};
}

}  // namespace holdfast::push

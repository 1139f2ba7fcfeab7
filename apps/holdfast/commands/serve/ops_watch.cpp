// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/ops_watch.hpp"

#include "push/room_keys.hpp"

#include <algorithm>
#include <ranges>
#include <utility>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

constexpr duration fresh = 400ms;
constexpr duration watch_for = 15s;
constexpr duration between_examinations = 60s;
constexpr std::size_t seconds_of_a_period = 10;
constexpr std::size_t recent_seconds = 15;

ops_recent totals_of(const push::counters& counts, const client_statistics& leases) {
    return {.frames = counts.broadcasts,
            .failures = counts.broadcast_failures,
            .closed_slow = counts.closed_slow,
            .fenced = counts.fenced,
            .lost = leases.lost};
}

}  // namespace

ops_watch::ops_watch(client& engine, const push::settings& s, push::counters& counts,
                     examination examine)
    : engine_(engine),
      time_(system_clock()),
      settings_(s),
      counts_(counts),
      examine_(std::move(examine)),
      logic_(engine, s) {}

ops_watch::~ops_watch() {
    stop();
}

void ops_watch::start() {
    thread_ = std::thread([this] { run(); });
}

void ops_watch::stop() {
    {
        const std::scoped_lock guard(mutex_);
        stop_ = true;
    }
    changed_.notify_all();
    if (thread_.joinable()) thread_.join();
}

void ops_watch::run() {
    time_point next = time_.now();
    time_point next_examination = next;
    for (std::size_t second = 0;; ++second) {
        sample();
        if (second % seconds_of_a_period == 0) counts_.board.turn();
        next = std::max(next + 1s, time_.now());
        bool examine = false;
        {
            std::unique_lock guard(mutex_);
            while (!stop_ && time_.now() < next) {
                // The first watcher is not kept waiting for the doctor.
                if (time_.now() < watched_ && next_examination <= time_.now()) break;
                time_.wait_until(guard, changed_, next);
            }
            if (stop_) return;
            examine = time_.now() < watched_ && next_examination <= time_.now();
        }
        if (!examine) continue;
        examine_engine();
        next_examination = time_.now() + between_examinations;
    }
}

void ops_watch::examine_engine() {
    if (!examine_) return;
    findings found = examine_();
    const std::scoped_lock guard(mutex_);
    health_ = std::move(found);
}

void ops_watch::sample() {
    const auto length = logic_.queue_length();
    const client_statistics leases = engine_.statistics();
    const push::counters& c = counts_;
    const std::scoped_lock guard(mutex_);
    if (length) queue_ = *length;
    series_.put({c.messages, c.broadcasts, c.broadcast_messages, c.duplicates,
                 c.deferred + c.skipped, c.shed, c.queue_us, leases.acquired, leases.lost,
                 c.viewers, queue_});
    totals_.push_back(totals_of(c, leases));
    if (totals_.size() > recent_seconds) totals_.pop_front();
}

ops_series::part ops_watch::series(std::uint64_t since) const {
    const std::scoped_lock guard(mutex_);
    return series_.read(since);
}

std::shared_ptr<const ops_view> ops_watch::look() {
    {
        const std::scoped_lock guard(mutex_);
        watched_ = time_.now() + watch_for;
    }
    changed_.notify_all();
    const std::scoped_lock one_at_a_time(looking_);
    const time_point now = time_.now();
    if (last_ != nullptr && now - looked_ < fresh) return last_;
    auto made = std::make_shared<ops_view>();
    made->lock_life = settings_.lock_life;
    put_rooms(*made, now);
    if (made->engine_error.empty()) put_locks(*made, now);
    put_recent(*made, now);
    last_ = std::move(made);
    looked_ = time_.now();
    return last_;
}

void ops_watch::put_rooms(ops_view& to, time_point now) {
    const auto names = logic_.rooms(most_rooms + 1);
    if (!names) {
        to.engine_error = names.error().detail;
        return;
    }
    to.more_rooms = names->size() > most_rooms;
    std::map<std::string, standstill> cursors;
    for (const push::room_summary& one : *names | std::views::take(most_rooms)) {
        auto state = logic_.room(one.name);
        if (!state) {
            to.engine_error = state.error().detail;
            return;
        }
        if (!*state) continue;
        ops_room room{.state = std::move(**state),
                      .counted = counts_.board.find(one.name),
                      .cooldown = push::policy_of(settings_, one.name).cooldown,
                      .stuck = {},
                      .lock = push::room_keys(settings_, one.name).lock()};
        const auto before = cursors_.find(one.name);
        const bool stands = before != cursors_.end() && before->second.at == room.state.cursor;
        if (room.state.tail > room.state.cursor) {
            const time_point since = stands ? before->second.since : now;
            room.stuck = now - since;
            cursors[one.name] = {room.state.cursor, since};
        }
        to.rooms.push_back(std::move(room));
    }
    cursors_ = std::move(cursors);
}

void ops_watch::put_locks(ops_view& to, time_point now) {
    if (now >= next_listing_ && engine_.can().listing) {
        auto found = engine_.list();
        const time_point done = time_.now();
        next_listing_ = done + std::max<duration>(fresh, 20 * (done - now));
        if (found) {
            more_listed_ = found->size() > most_locks;
            if (more_listed_) found->resize(most_locks);
            listed_ = std::move(*found);
        }
    }
    to.locks = listed_;
    to.more_locks = more_listed_;
}

void ops_watch::put_recent(ops_view& to, time_point now) {
    to.leases = engine_.statistics();
    const ops_recent total = totals_of(counts_, to.leases);
    const std::scoped_lock guard(mutex_);
    to.queue = queue_;
    to.health = health_;
    const ops_recent before = totals_.empty() ? total : totals_.front();
    to.recent = {.frames = total.frames - before.frames,
                 .failures = total.failures - before.failures,
                 .closed_slow = total.closed_slow - before.closed_slow,
                 .fenced = total.fenced - before.fenced,
                 .lost = total.lost - before.lost};
    if (queue_ == 0 || frames_.at != total.frames || frames_.since == time_point{}) {
        frames_ = {total.frames, now};
    }
    to.queue_stuck = now - frames_.since;
}

}  // namespace holdfast::app

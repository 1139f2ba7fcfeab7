// SPDX-License-Identifier: Apache-2.0
#include "driver/zookeeper/zookeeper_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::zookeeper {
namespace {

using namespace std::chrono_literals;

// Twice the usual ttls. The longest is two days: the library counts milliseconds in 32 bits.
constexpr std::array<duration, 16> classes{1s,  2s,  3s,   4s,   6s,   10s,   20s,   30s,
                                           40s, 60s, 120s, 240s, 600s, 1200s, 7200s, 172800s};

std::string joined(const zookeeper_options& options) {
    std::string all;
    for (const zookeeper_endpoint& one : options.servers) {
        fmt::format_to(std::back_inserter(all), "{}{}:{}", all.empty() ? "" : ",", one.host,
                       one.port);
    }
    return all;
}

}  // namespace

zookeeper_client::zookeeper_client(zookeeper_options options, clock& time)
    : options_(std::move(options)), servers_(joined(options_)), clock_(time) {}

zookeeper_client::~zookeeper_client() {
    close();
}

duration zookeeper_client::timeout_for(duration ttl) {
    const auto found = std::ranges::lower_bound(classes, ttl, {}, &zookeeper_session::safe_part);
    return found == classes.end() ? classes.back() : *found;
}

result<zookeeper_client::session_ptr> zookeeper_client::session_for(duration ttl) {
    const duration timeout = timeout_for(ttl);
    const auto known = [&]() -> session_ptr {
        const std::scoped_lock guard(mutex_);
        const auto found = sessions_.find(timeout);
        return found == sessions_.end() ? nullptr : found->second;
    };
    if (session_ptr found = known(); found && !found->is_over()) return found;
    const std::scoped_lock alone(opening_);
    if (session_ptr found = known(); found && !found->is_over()) return found;
    auto made = zookeeper_session::open(
        options_, timeout, clock_,
        [this](const session_ptr& from, session_event event) { hear(from, event); });
    if (!made) return made;
    (*made)->on_deadline([this](time_point when) { wake_at(when); });
    const std::scoped_lock guard(mutex_);
    if (closed_) return fail(errc::unavailable, "zookeeper: the client is closed");
    if (auto& place = sessions_[timeout]; place != *made) {
        if (place) ended_.push_back(std::move(place));
        place = *made;
    }
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
    return made;
}

result<zookeeper_client::session_ptr> zookeeper_client::some_session() {
    {
        const std::scoped_lock guard(mutex_);
        for (const auto& [timeout, one] : sessions_) {
            if (!one->is_over()) return one;
        }
    }
    return session_for(10s);
}

void zookeeper_client::hear(const session_ptr& from, session_event event) {
    if (event == session_event::over) {
        const std::scoped_lock guard(mutex_);
        const auto found =
            std::ranges::find(sessions_, from, &decltype(sessions_)::value_type::second);
        if (found != sessions_.end()) {
            ended_.push_back(std::move(found->second));
            sessions_.erase(found);
        }
        next_ = time_point::min();
        woken_.notify_all();
    }
    if (events_) events_(from, event);
}

void zookeeper_client::wake_at(time_point when) {
    const std::scoped_lock guard(mutex_);
    if (when >= next_) return;
    next_ = when;
    woken_.notify_all();
}

void zookeeper_client::run() {
    std::unique_lock held(mutex_);
    while (!closed_) {
        std::vector<session_ptr> live;
        for (const auto& [timeout, one] : sessions_) live.push_back(one);
        std::vector<session_ptr> over = std::exchange(ended_, {});
        next_ = time_point::max();
        held.unlock();
        for (const session_ptr& one : over) one->close();
        over.clear();
        const time_point now = clock_.now();
        time_point next = upkeep_ ? upkeep_(now) : time_point::max();
        for (const session_ptr& one : live) next = std::min(next, one->expire_overdue(now));
        live.clear();
        held.lock();
        next_ = std::min(next_, next);
        while (!closed_ && clock_.now() < next_) {
            if (next_ == time_point::max()) {
                woken_.wait(held);
            } else {
                clock_.wait_until(held, woken_, next_);
            }
        }
    }
}

void zookeeper_client::close() {
    std::vector<session_ptr> all;
    {
        const std::scoped_lock guard(mutex_);
        closed_ = true;
        for (auto& [timeout, one] : sessions_) all.push_back(std::move(one));
        sessions_.clear();
        for (session_ptr& one : ended_) all.push_back(std::move(one));
        ended_.clear();
        woken_.notify_all();
    }
    for (const session_ptr& one : all) one->close();
    if (thread_.joinable()) thread_.join();
}

}  // namespace holdfast::zookeeper

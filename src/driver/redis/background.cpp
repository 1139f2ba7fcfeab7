// SPDX-License-Identifier: Apache-2.0
#include "driver/redis/background.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::redis {

background::background(clock& time, duration period, std::function<void()> look)
    : time_(time), period_(period), look_(std::move(look)), next_check_(time.now() + period) {}

background::~background() {
    stop();
}

void background::start() {
    const std::scoped_lock guard(mutex_);
    if (!thread_.joinable() && !stopping_) thread_ = std::thread([this] { serve(); });
}

void background::check_soon(duration rest) {
    {
        const std::scoped_lock guard(mutex_);
        time_point when = time_.now();
        if (checked_at_ != time_point::min()) when = std::max(when, checked_at_ + rest);
        if (when >= next_check_) return;
        next_check_ = when;
        changed_.notify_all();
    }
    start();
}

void background::later(time_point when, call put_off) {
    {
        std::unique_lock held(mutex_);
        if (stopping_) {
            held.unlock();
            return put_off();
        }
        calls_.emplace(when, std::move(put_off));
        changed_.notify_all();
    }
    start();
}

bool background::pause_until(time_point when) {
    std::unique_lock held(mutex_);
    while (!stopping_ && time_.now() < when) time_.wait_until(held, changed_, when);
    return !stopping_;
}

void background::stop() {
    std::multimap<time_point, call> rest;
    {
        const std::scoped_lock guard(mutex_);
        stopping_ = true;
        changed_.notify_all();
        rest.swap(calls_);
    }
    if (thread_.joinable()) thread_.join();
    for (auto& [when, put_off] : rest) put_off();
}

void background::serve() {
    std::unique_lock held(mutex_);
    while (!stopping_) {
        const time_point now = time_.now();
        if (!calls_.empty() && calls_.begin()->first <= now) {
            call due = std::move(calls_.extract(calls_.begin()).mapped());
            held.unlock();
            due();
            held.lock();
            continue;
        }
        if (now >= next_check_) {
            checked_at_ = now;
            next_check_ = now + period_;
            held.unlock();
            look_();
            held.lock();
            continue;
        }
        const time_point wake =
            calls_.empty() ? next_check_ : std::min(next_check_, calls_.begin()->first);
        time_.wait_until(held, changed_, wake);
    }
}

}  // namespace holdfast::redis

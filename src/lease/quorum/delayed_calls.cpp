// SPDX-License-Identifier: Apache-2.0
#include "lease/quorum/delayed_calls.hpp"

#include <utility>

namespace holdfast::detail {

bool delayed_calls::at(time_point when, std::function<void()> what) {
    const std::scoped_lock guard(mutex_);
    if (closed_ || calls_.size() >= most) return false;
    const auto placed = calls_.emplace(when, std::move(what));
    if (by_ == upkeep::threads && !thread_.joinable()) thread_ = std::thread([this] { run(); });
    if (placed == calls_.begin()) changed_.notify_all();
    return true;
}

void delayed_calls::close() {
    {
        const std::scoped_lock guard(mutex_);
        closed_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
}

void delayed_calls::run() {
    std::unique_lock held(mutex_);
    while (!closed_) {
        if (calls_.empty()) {
            time_.wait_until(held, changed_, time_point::max());
            continue;
        }
        if (!make_one(held)) time_.wait_until(held, changed_, calls_.begin()->first);
    }
}

bool delayed_calls::make_one(std::unique_lock<std::mutex>& held) {
    const auto first = calls_.begin();
    if (first == calls_.end() || time_.now() < first->first) return false;
    const auto what = std::move(first->second);
    calls_.erase(first);
    held.unlock();
    what();
    held.lock();
    return true;
}

time_point delayed_calls::step() {
    std::unique_lock held(mutex_);
    while (make_one(held)) {
    }
    return calls_.empty() ? time_point::max() : calls_.begin()->first;
}

}  // namespace holdfast::detail

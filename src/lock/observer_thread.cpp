// SPDX-License-Identifier: Apache-2.0
#include "lock/observer_thread.hpp"

#include <memory>
#include <utility>

namespace holdfast::detail {

observer_thread::~observer_thread() {
    close();
}

bool observer_thread::post(std::function<void()> event, std::size_t most) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->closed || desk_->events.size() >= most) return false;
    desk_->events.push_back(std::move(event));
    if (by_ == upkeep::by_hand) return true;
    if (!thread_.joinable()) thread_ = std::thread(run, desk_);
    desk_->arrived.notify_one();
    return true;
}

void observer_thread::run(const std::shared_ptr<desk>& desk) {
    std::unique_lock held(desk->mutex);
    for (;;) {
        if (run_one(*desk, held)) continue;
        if (desk->closed) return;
        desk->arrived.wait(held);
    }
}

// Runs the next one without the lock; false if there is none.
bool observer_thread::run_one(desk& desk, std::unique_lock<std::mutex>& held) {
    if (desk.events.empty()) return false;
    auto event = std::move(desk.events.front());
    desk.events.pop_front();
    held.unlock();
    try {
        event();
    } catch (...) {  // NOLINT(bugprone-empty-catch)
        // A user's callback must not end the process from a thread of ours.
    }
    event = nullptr;  // may destroy the user's objects: outside the lock too
    held.lock();
    return true;
}

void observer_thread::step() {
    std::unique_lock held(desk_->mutex);
    while (run_one(*desk_, held)) {
    }
}

void observer_thread::close() {
    std::thread ending;
    {
        const std::scoped_lock guard(desk_->mutex);
        desk_->closed = true;
        desk_->arrived.notify_all();
        ending = std::move(thread_);
    }
    if (!ending.joinable()) return;
    if (ending.get_id() == std::this_thread::get_id()) {
        ending.detach();  // it owns its desk, and ends when this callback returns
    } else {
        ending.join();
    }
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "lock/herald.hpp"

#include <memory>
#include <utility>

namespace holdfast::detail {

herald::~herald() {
    close();
}

void herald::tell(std::function<void()> news) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->closed) return;
    desk_->news.push_back(std::move(news));
    arrive();
}

bool herald::mention(std::function<void()> news, std::size_t most) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->closed || desk_->mentions.size() >= most) return false;
    desk_->mentions.push_back(std::move(news));
    arrive();
    return true;
}

// Requires: the desk's mutex is held.
void herald::arrive() {
    if (by_ == upkeep::by_hand) return;
    if (!thread_.joinable()) thread_ = std::thread(run, desk_);
    desk_->arrived.notify_one();
}

std::function<void()> herald::desk::next() {
    auto& from = news.empty() ? mentions : news;
    if (from.empty()) return nullptr;
    auto first = std::move(from.front());
    from.pop_front();
    return first;
}

void herald::run(const std::shared_ptr<desk>& desk) {
    std::unique_lock held(desk->mutex);
    for (;;) {
        if (tell_one(*desk, held)) continue;
        if (desk->closed) return;
        desk->arrived.wait(held);
    }
}

// Runs the next one without the lock; false if there is none.
bool herald::tell_one(desk& desk, std::unique_lock<std::mutex>& held) {
    auto news = desk.next();
    if (news == nullptr) return false;
    held.unlock();
    try {
        news();
    } catch (...) {  // a user's callback must not end the process from a thread of ours
    }
    news = nullptr;  // may destroy the user's objects: outside the lock too
    held.lock();
    return true;
}

void herald::step() {
    std::unique_lock held(desk_->mutex);
    while (tell_one(*desk_, held)) {
    }
}

void herald::close() {
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

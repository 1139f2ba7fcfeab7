// SPDX-License-Identifier: Apache-2.0
#include "lock/waiting_room.hpp"

#include <utility>

namespace holdfast::detail {

waiter::event waiter::sleep(time_point until) {
    std::unique_lock held(mutex_);
    for (;;) {
        if (given_) return *std::exchange(given_, std::nullopt);
        if (closed_) return closed{};
        if (cancelled_) return cancelled{};
        if (std::exchange(look_, false)) return look_again{};
        if (clock_.now() >= until) return time_is_up{};
        clock_.wait_until(held, changed_, until);
    }
}

void waiter::hand_over(const handed_over& given) {
    const std::scoped_lock guard(mutex_);
    given_ = given;
    changed_.notify_all();
}

void waiter::look() {
    const std::scoped_lock guard(mutex_);
    look_ = true;
    changed_.notify_all();
}

void waiter::cancel() {
    const std::scoped_lock guard(mutex_);
    cancelled_ = true;
    changed_.notify_all();
}

void waiter::close() {
    const std::scoped_lock guard(mutex_);
    closed_ = true;
    changed_.notify_all();
}

waiting_room::seat::seat(waiting_room& room, const owner_token& owner, waiter& who)
    : room_(room), owner_(owner) {
    const std::scoped_lock guard(room_.mutex_);
    room_.waiters_.emplace(owner, &who);
    if (room_.closed_) who.close();
}

waiting_room::seat::~seat() {
    const std::scoped_lock guard(room_.mutex_);
    room_.waiters_.erase(owner_);
}

void waiting_room::hear(const lease_push& push) {
    const std::scoped_lock guard(mutex_);
    if (const auto* given = std::get_if<handed_over>(&push)) {
        const auto found = waiters_.find(given->owner);
        if (found != waiters_.end()) found->second->hand_over(*given);
        return;
    }
    for (const auto& [owner, who] : waiters_) who->look();
}

void waiting_room::close() {
    const std::scoped_lock guard(mutex_);
    closed_ = true;
    for (const auto& [owner, who] : waiters_) who->close();
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "lock/waiter_table.hpp"

#include <utility>

namespace holdfast::detail {

waiter::event waiter::sleep(time_point until) {
    std::unique_lock held(mutex_);
    for (;;) {
        if (auto happening = take()) return std::move(*happening);
        if (clock_.now() >= until) return time_is_up{};
        clock_.wait_until(held, changed_, until);
    }
}

std::optional<waiter::event> waiter::happened() {
    const std::scoped_lock guard(mutex_);
    return take();
}

bool waiter::has_news() {
    const std::scoped_lock guard(mutex_);
    return given_ || passed_ != nullptr || turn_ || closed_ || cancelled_ || look_;
}

void waiter::poll_with(detail::event* signal) {
    const std::scoped_lock guard(mutex_);
    signal_ = signal;
    poller_ = std::this_thread::get_id();
}

// What can end the wait comes before what only asks for a look.
std::optional<waiter::event> waiter::take() {
    if (given_) return *std::exchange(given_, std::nullopt);
    if (passed_ != nullptr) return std::exchange(passed_, nullptr);
    if (std::exchange(turn_, false)) return your_turn{};
    if (closed_) return closed{};
    if (cancelled_) return cancelled{};
    if (std::exchange(look_, false)) return poll_again{};
    return std::nullopt;
}

void waiter::wake() {
    if (bell_ != nullptr) {
        bell_->ring();
        return;
    }
    changed_.notify_all();
    if (signal_ != nullptr && poller_ != std::this_thread::get_id()) signal_->raise();
}

void waiter::handoff(const handed_off& given) {
    const std::scoped_lock guard(mutex_);
    given_ = given;
    wake();
}

void waiter::pass_on(passed lease) {
    const std::scoped_lock guard(mutex_);
    passed_ = std::move(lease);
    wake();
}

void waiter::take_turn() {
    const std::scoped_lock guard(mutex_);
    turn_ = true;
    wake();
}

void waiter::look() {
    const std::scoped_lock guard(mutex_);
    look_ = true;
    wake();
}

void waiter::cancel() {
    const std::scoped_lock guard(mutex_);
    cancelled_ = true;
    wake();
}

void waiter::close() {
    const std::scoped_lock guard(mutex_);
    closed_ = true;
    wake();
}

waiter_table::seat::seat(waiter_table& room, owner_token owner, waiter& who)
    : room_(room), owner_(owner) {
    const std::scoped_lock guard(room_.mutex_);
    room_.waiters_.emplace(owner_, &who);
    if (room_.closed_) who.close();
}

waiter_table::seat::~seat() {
    const std::scoped_lock guard(room_.mutex_);
    room_.waiters_.erase(owner_);
}

void waiter_table::hear(const lease_push& push) {
    const std::scoped_lock guard(mutex_);
    if (const auto* given = std::get_if<handed_off>(&push)) {
        const auto found = waiters_.find(given->owner);
        if (found != waiters_.end()) found->second->handoff(*given);
        return;
    }
    if (!std::holds_alternative<poll_again>(push)) return;
    for (const auto& [owner, who] : waiters_) who->look();
}

std::size_t waiter_table::size() {
    const std::scoped_lock guard(mutex_);
    return waiters_.size();
}

void waiter_table::close() {
    const std::scoped_lock guard(mutex_);
    closed_ = true;
    for (const auto& [owner, who] : waiters_) who->close();
}

}  // namespace holdfast::detail

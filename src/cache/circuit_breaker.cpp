// SPDX-License-Identifier: Apache-2.0
#include "cache/circuit_breaker.hpp"

#include <algorithm>

namespace holdfast::detail {

bool circuit_breaker::allows(time_point now) {
    if (clean_.load(std::memory_order_acquire)) return true;
    const std::scoped_lock guard(mutex_);
    if (!open_) return true;
    if (now < until_) return false;
    // This one tries. The others wait for what it says, or for as long as a pause.
    until_ = now + pause_;
    trying_ = true;
    return true;
}

void circuit_breaker::succeeded() {
    if (clean_.load(std::memory_order_acquire)) return;
    const std::scoped_lock guard(mutex_);
    failures_ = 0;
    open_ = false;
    trying_ = false;
    pause_ = duration::zero();
    clean_.store(true, std::memory_order_release);
}

void circuit_breaker::failed(time_point now) {
    const std::scoped_lock guard(mutex_);
    clean_.store(false, std::memory_order_release);
    if (!open_ && ++failures_ < options_.failures) return;
    if (open_ && !trying_) return;  // a call that began before it opened: that says nothing new
    trying_ = false;
    if (!open_) ++opened_;
    open_ = true;
    pause_ = pause_ == duration::zero() ? options_.pause : std::min(pause_ * 2, options_.pause_max);
    const auto spread = static_cast<std::uint64_t>(pause_.count() / 4) + 1;
    until_ = now + pause_ - duration(static_cast<std::int64_t>(chance_->below(spread)));
}

breaker_state circuit_breaker::state(time_point now) const {
    const std::scoped_lock guard(mutex_);
    if (!open_) return breaker_state::closed;
    return now < until_ ? breaker_state::open : breaker_state::half_open;
}

time_point circuit_breaker::next_try() const {
    const std::scoped_lock guard(mutex_);
    return until_;
}

std::uint64_t circuit_breaker::opened() const {
    const std::scoped_lock guard(mutex_);
    return opened_;
}

bool load_limit::take(time_point now) {
    const std::scoped_lock guard(mutex_);
    if (filled_ != time_point{}) {
        const double seconds = std::chrono::duration<double>(now - filled_).count();
        level_ = std::min(burst_, level_ + seconds * rate_);
    }
    filled_ = now;
    if (level_ < 1) return false;
    level_ -= 1;
    return true;
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "core/require.hpp"

#include <holdfast/virtual_clock.hpp>

#include <algorithm>
#include <vector>

namespace holdfast {

time_point virtual_clock::now() const noexcept {
    const std::scoped_lock guard(mutex_);
    return now_;
}

wall_time virtual_clock::wall() const noexcept {
    constexpr wall_time epoch{std::chrono::sys_days{std::chrono::year{2026} / 1 / 1}};
    return epoch + std::chrono::floor<std::chrono::microseconds>(now().time_since_epoch());
}

void virtual_clock::wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                               time_point when) {
    detail::require(held.owns_lock(), "`held` is locked");
    std::list<sleeper>::iterator self;
    {
        const std::scoped_lock guard(mutex_);
        if (when <= now_) return;
        self = sleepers_.insert(sleepers_.end(), {held.mutex(), &cv, when});
    }
    cv.wait(held);
    held.unlock();
    {
        std::unique_lock guard(mutex_);
        unpinned_.wait(guard, [&] { return self->pins == 0; });
        sleepers_.erase(self);
    }
    held.lock();
}

// A sleeper is notified with its own mutex held, or the notification could fall between its look at
// the time and its sleep. That mutex is taken without ours, because sleepers take the two in the
// other order; the pin keeps the sleeper, and so its mutex and variable, alive meanwhile.
void virtual_clock::advance(duration by) {
    detail::require(by >= duration::zero(), "by >= 0");
    std::vector<std::list<sleeper>::iterator> due;
    {
        const std::scoped_lock guard(mutex_);
        now_ += by;
        for (auto s = sleepers_.begin(); s != sleepers_.end(); ++s) {
            if (s->when > now_) continue;
            ++s->pins;
            due.push_back(s);
        }
    }
    for (const auto s : due) {
        const std::scoped_lock guard(*s->mutex);
        s->cv->notify_all();
    }
    const std::scoped_lock guard(mutex_);
    for (const auto s : due) --s->pins;
    unpinned_.notify_all();
}

std::size_t virtual_clock::waiting() const {
    const std::scoped_lock guard(mutex_);
    return sleepers_.size();
}

time_point virtual_clock::next_wake() const {
    const std::scoped_lock guard(mutex_);
    time_point earliest = time_point::max();
    for (const sleeper& s : sleepers_) earliest = std::min(earliest, s.when);
    return earliest;
}

}  // namespace holdfast

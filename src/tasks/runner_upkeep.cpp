// SPDX-License-Identifier: Apache-2.0
//
// The thread that renews, and looks after what dead workers left.
#include "tasks/runner_core.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::detail {

void runner_core::keep_up() {
    // The tasks of a dead worker wait for their lease, and for this at most.
    const duration pause = std::clamp<duration>(options_.lease / 8, std::chrono::milliseconds(20),
                                                std::chrono::seconds(1));
    time_point others_at = clock_.now();
    while (true) {
        const time_point now = clock_.now();
        if (now >= others_at) {
            look_after_others();
            others_at = clock_.now() + pause;
        }
        const time_point next = std::min(keep_all(clock_.now()), others_at);
        std::unique_lock guard(mutex_);
        if (ended_) return;
        if (clock_.now() < next) clock_.wait_until(guard, upkeep_changed_, next);
        if (ended_) return;
    }
}

// The attempts are called without the mutex: each call may be a request to the database.
time_point runner_core::keep_all(time_point now) {
    time_point next = time_point::max();
    for (const auto& one : attempts()) next = std::min(next, one->keep(now));
    return next;
}

std::vector<std::shared_ptr<task_attempt>> runner_core::attempts() const {
    std::vector<std::shared_ptr<task_attempt>> all;
    const std::scoped_lock guard(mutex_);
    for (const active_task* one : active_) all.push_back(one->attempt);
    return all;
}

void runner_core::watch_deadlines() {
    while (true) {
        std::uint64_t seen = 0;
        {
            const std::scoped_lock guard(mutex_);
            seen = counted_.claimed;
        }
        time_point next = time_point::max();
        for (const auto& one : attempts()) next = std::min(next, one->expire(clock_.now()));
        std::unique_lock guard(mutex_);
        while (!ended_ && counted_.claimed == seen && clock_.now() < next) {
            clock_.wait_until(guard, upkeep_changed_, next);
        }
        if (ended_) return;
    }
}

void runner_core::look_after_others() {
    {
        const std::scoped_lock guard(mutex_);
        if (draining_) return;
    }
    const auto rescued = table_->rescue();
    if (!rescued) {
        tell(task_event::kind::trouble, "", to_string(rescued.error()));
        return;
    }
    for (const rescued_task& one : *rescued) {
        const bool dead = one.now == task_state::dead;
        {
            const std::scoped_lock guard(mutex_);
            ++(dead ? counted_.buried : counted_.rescued);
        }
        if (dead) {
            tell(task_event::kind::buried, one.id, "its workers died with it");
        } else {
            tell(task_event::kind::rescued, one.id);
        }
    }
    if (!rescued->empty()) table_->wake_all();
    if (const auto stalled = table_->stalled()) {
        for (const stalled_output& one : *stalled) finish_stalled(one);
    }
    if (const auto ticks = table_->tick(); ticks && *ticks > 0) {
        const std::scoped_lock guard(mutex_);
        counted_.ticks += *ticks;
    }
}

// Its worker won the row and died before it had moved the output: anybody may do that.
void runner_core::finish_stalled(const stalled_output& what) {
    const auto state = complete_output(*table_, what);
    if (!state) {
        tell(task_event::kind::trouble, what.id, state.error().detail);
    } else if (*state == task_state::finished) {
        tell(task_event::kind::finished, what.id);
    } else if (*state) {
        tell(task_event::kind::rescued, what.id);
        table_->wake_all();
    }
}

}  // namespace holdfast::detail

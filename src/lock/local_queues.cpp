// SPDX-License-Identifier: Apache-2.0
#include "lock/local_queues.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {

local_queues::turn local_queues::enter(const lock_name& name, waiter& who) {
    const std::scoped_lock guard(mutex_);
    queue& here = queues_[name];
    if (here.asking < most_) {
        ++here.asking;
        return turn::ask;
    }
    here.behind.push_back(&who);
    return turn::wait;
}

bool local_queues::leave(const lock_name& name, waiter& who) {
    const std::scoped_lock guard(mutex_);
    const auto at = queues_.find(name);
    return at != queues_.end() && std::erase(at->second.behind, &who) > 0;
}

void local_queues::next(const lock_name& name) {
    const std::scoped_lock guard(mutex_);
    const auto at = queues_.find(name);
    if (at != queues_.end()) open(at);
}

void local_queues::occupy(const lock_name& name, std::shared_ptr<const lease_state> holder) {
    const std::scoped_lock guard(mutex_);
    queues_[name].holder = std::move(holder);
}

void local_queues::end_turn(const lease_state& holder) {
    const std::scoped_lock guard(mutex_);
    const auto at = queues_.find(holder.name);
    if (at != queues_.end() && at->second.holder.get() == &holder) open(at);
}

bool local_queues::pass_on(const lease_state& holder, std::shared_ptr<lease_state> next) {
    const std::scoped_lock guard(mutex_);
    const auto at = queues_.find(holder.name);
    if (at == queues_.end() || at->second.holder.get() != &holder) return false;
    if (at->second.behind.empty()) return false;
    waiter* first = at->second.behind.front();
    at->second.behind.pop_front();
    at->second.holder = next;
    first->pass_on(std::move(next));
    return true;
}

void local_queues::check(const lock_name& name, time_point now) {
    const std::scoped_lock guard(mutex_);
    const auto at = queues_.find(name);
    if (at == queues_.end() || at->second.holder == nullptr) return;
    const lease_state& holder = *at->second.holder;
    if (!holder.ours() || now >= holder.deadline.load()) open(at);
}

// The next one asks; the queue ends with the last.
void local_queues::open(std::unordered_map<lock_name, queue>::iterator at) {
    at->second.holder.reset();
    if (at->second.behind.empty()) {
        if (--at->second.asking == 0) queues_.erase(at);
        return;
    }
    waiter* first = at->second.behind.front();
    at->second.behind.pop_front();
    first->take_turn();
}

}  // namespace holdfast::detail

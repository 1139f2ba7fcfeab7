// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/message_hub.hpp"

namespace holdfast::memory {

std::shared_ptr<message_hub::listener> message_hub::add(std::string_view channel,
                                                        push_handler handler) {
    auto l = std::make_shared<listener>(channel, std::move(handler));
    const std::scoped_lock guard(mutex_);
    listeners_[l->channel].push_back(l);
    return l;
}

void message_hub::end(const std::shared_ptr<listener>& l) noexcept {
    std::unique_lock guard(mutex_);
    l->ended = true;
    if (const auto found = listeners_.find(l->channel); found != listeners_.end()) {
        std::erase(found->second, l);
        if (found->second.empty()) listeners_.erase(found);
    }
    if (delivering_ && deliverer_ == std::this_thread::get_id()) return;
    handler_returned_.wait(guard, [&] { return running_ != l.get(); });
}

std::size_t message_hub::post(std::string_view channel, std::string_view payload) {
    const std::scoped_lock guard(mutex_);
    const auto found = listeners_.find(channel);
    if (found == listeners_.end()) return 0;
    const auto copy = std::make_shared<const std::string>(payload);
    for (const auto& l : found->second) {
        if (l->pending < most_pending) {
            queue_.push_back({l, copy});
            ++l->pending;
        } else if (!l->gap_pending) {
            queue_.push_back({l, nullptr});
            l->gap_pending = true;
        }
    }
    pending_.store(queue_.size(), std::memory_order_release);
    return found->second.size();
}

// The next message whose listener still listens becomes the running one. False: there is none, and
// this thread delivers no longer.
bool message_hub::take(message& next) {
    std::deque<message> dropped;  // outlives the lock: a handler's captures may end subscriptions
    const std::scoped_lock guard(mutex_);
    running_ = nullptr;
    handler_returned_.notify_all();
    while (!queue_.empty()) {
        next = std::move(queue_.front());
        queue_.pop_front();
        pending_.store(queue_.size(), std::memory_order_release);
        if (next.payload == nullptr) {
            next.to->gap_pending = false;
        } else {
            --next.to->pending;
        }
        if (!next.to->ended) {
            running_ = next.to.get();
            return true;
        }
        dropped.push_back(std::move(next));
    }
    delivering_ = false;
    return false;
}

void message_hub::deliver(const message& m) {
    if (m.payload == nullptr) {
        m.to->handler({push_event::kind::gap, m.to->channel, {}});
    } else {
        m.to->handler({push_event::kind::message, m.to->channel, *m.payload});
    }
}

void message_hub::drain() noexcept {
    {
        const std::scoped_lock guard(mutex_);
        if (delivering_) return;
        delivering_ = true;
        deliverer_ = std::this_thread::get_id();
    }
    while (true) {
        message m;  // one per round: it is let go without the lock
        if (!take(m)) return;
        deliver(m);
    }
}

std::size_t message_hub::receivers(std::string_view channel) const {
    const std::scoped_lock guard(mutex_);
    const auto found = listeners_.find(channel);
    return found == listeners_.end() ? 0 : found->second.size();
}

std::vector<std::string> message_hub::channels() const {
    const std::scoped_lock guard(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, all] : listeners_) names.push_back(name);
    return names;
}

}  // namespace holdfast::memory

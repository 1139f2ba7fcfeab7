// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/message_hub.hpp"

#include "driver/memory/glob.hpp"

#include <algorithm>
#include <set>

namespace holdfast::memory {

namespace {

bool hears_scope(const message_hub::listener& l, channel_scope scope) {
    using hears = message_hub::hears;
    return l.what == hears::both ||
           l.what == (scope == channel_scope::sharded ? hears::sharded : hears::published);
}

}  // namespace

std::shared_ptr<message_hub::listener> message_hub::add(std::string_view channel,
                                                        push_handler handler, hears what) {
    auto l = std::make_shared<listener>(channel, what, std::move(handler));
    const std::scoped_lock guard(mutex_);
    (what == hears::pattern ? patterns_ : listeners_[l->channel]).push_back(l);
    return l;
}

void message_hub::end(const std::shared_ptr<listener>& l) noexcept {
    std::unique_lock guard(mutex_);
    l->ended = true;
    if (l->what == hears::pattern) {
        std::erase(patterns_, l);
    } else if (const auto found = listeners_.find(l->channel); found != listeners_.end()) {
        std::erase(found->second, l);
        if (found->second.empty()) listeners_.erase(found);
    }
    if (delivering_ && deliverer_ == std::this_thread::get_id()) return;
    handler_returned_.wait(guard, [&] { return running_ != l.get(); });
}

// Requires: the mutex is held.
void message_hub::enqueue(message&& m) {
    listener& to = *m.to;
    if (to.pending < most_pending) {
        ++to.pending;
        queue_.push_back(std::move(m));
    } else if (!to.gap_pending) {
        to.gap_pending = true;
        queue_.push_back({std::move(m.to), nullptr, nullptr});
    }
}

std::size_t message_hub::post(std::string_view channel, std::string_view payload,
                              channel_scope scope) {
    const std::scoped_lock guard(mutex_);
    const auto found = listeners_.find(channel);
    const bool matching = scope == channel_scope::global && !patterns_.empty();
    if (found == listeners_.end() && !matching) return 0;
    const auto copy = std::make_shared<const std::string>(payload);
    std::size_t count = 0;
    if (found != listeners_.end()) {
        for (const auto& l : found->second) {
            if (!hears_scope(*l, scope)) continue;
            enqueue({l, copy, nullptr});
            ++count;
        }
    }
    if (matching) {
        const auto name = std::make_shared<const std::string>(channel);
        for (const auto& l : patterns_) {
            if (!glob_match(l->channel, channel)) continue;
            enqueue({l, copy, name});
            ++count;
        }
    }
    pending_.store(queue_.size(), std::memory_order_release);
    return count;
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
        const std::string& channel = m.channel == nullptr ? m.to->channel : *m.channel;
        m.to->handler({push_event::kind::message, channel, *m.payload});
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

std::size_t message_hub::receivers(std::string_view channel, channel_scope scope) const {
    const std::scoped_lock guard(mutex_);
    const auto found = listeners_.find(channel);
    if (found == listeners_.end()) return 0;
    return static_cast<std::size_t>(std::ranges::count_if(
        found->second, [&](const auto& l) { return hears_scope(*l, scope); }));
}

std::vector<std::string> message_hub::channels(channel_scope scope) const {
    const std::scoped_lock guard(mutex_);
    std::vector<std::string> names;
    for (const auto& [name, all] : listeners_) {
        if (std::ranges::any_of(all, [&](const auto& l) { return hears_scope(*l, scope); })) {
            names.push_back(name);
        }
    }
    return names;
}

std::size_t message_hub::patterns() const {
    const std::scoped_lock guard(mutex_);
    std::set<std::string_view> different;
    for (const auto& l : patterns_) different.insert(l->channel);
    return different.size();
}

}  // namespace holdfast::memory

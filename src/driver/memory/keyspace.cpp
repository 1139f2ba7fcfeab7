// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/keyspace.hpp"

#include "driver/memory/value_size.hpp"

#include <algorithm>

namespace holdfast::memory {

key_node* keyspace::find(std::string_view key) {
    key_node* found = keys_.find(key);
    if (found == nullptr) return nullptr;
    if (!expired(*found)) {
        if (counts_) marks_.used(found->value.used, now_ms_);
        return found;
    }
    erase(*found);
    ++expired_total_;
    return nullptr;
}

key_node& keyspace::insert(std::string_view key, value v) {
    key_node& fresh = keys_.insert(key, record{.data = std::move(v)});
    if (counts_) {
        fresh.value.used = marks_.fresh(now_ms_);
        set_bytes(fresh, estimated_bytes(fresh.key, fresh.value.data));
    }
    return fresh;
}

void keyspace::erase(key_node& n) noexcept {
    bytes_ -= n.value.bytes;
    expiries_.remove(n);
    keys_.erase(n);
}

void keyspace::clear() {
    for (auto& [key, watchers] : watched_) {
        if (keys_.find(key) == nullptr) continue;
        for (watcher* w : watchers) w->touched = true;
    }
    expiries_.clear();
    keys_.clear();
    bytes_ = 0;
}

void keyspace::set_expiry(key_node& n, std::int64_t when_ms) {
    expiries_.set(n, when_ms);
    n.value.expires_ms = when_ms;
}

void keyspace::drop_expiry(key_node& n) noexcept {
    expiries_.remove(n);
    n.value.expires_ms = no_expiry;
}

std::size_t keyspace::expire_due(std::size_t most) noexcept {
    std::size_t done = 0;
    while (done < most && !expiries_.empty() && now_ms_ > expiries_.next_time()) {
        erase(expiries_.next());
        ++done;
    }
    expired_total_ += done;
    return done;
}

void keyspace::touch(std::string_view key) {
    const auto found = watched_.find(key);
    if (found == watched_.end()) return;
    for (watcher* w : found->second) w->touched = true;
}

void keyspace::watch(std::string_view key, watcher& w) {
    watched_[std::string(key)].push_back(&w);
}

void keyspace::unwatch(std::string_view key, watcher& w) {
    const auto found = watched_.find(key);
    if (found == watched_.end()) return;
    std::erase(found->second, &w);
    if (found->second.empty()) watched_.erase(found);
}

// Bytes, and who goes first when there are too many.

void keyspace::set_bytes(key_node& n, std::size_t bytes) noexcept {
    bytes_ += bytes - n.value.bytes;
    n.value.bytes = bytes;
}

void keyspace::recount(std::string_view key) {
    if (key_node* n = keys_.find(key)) set_bytes(*n, estimated_bytes(n->key, n->value.data));
}

void keyspace::count_bytes(bool on, eviction_policy policy) {
    const bool afresh = on && (!counts_ || policy != policy_);
    policy_ = policy;
    marks_.follow(policy);
    counts_ = on;
    if (on && !afresh) return;
    for (key_node* n = keys_.first(); n != nullptr; n = n->after) {
        n->value.used = marks_.fresh(now_ms_);
        set_bytes(*n, on ? estimated_bytes(n->key, n->value.data) : 0);
    }
}

std::size_t keyspace::chance_below(std::size_t bound) noexcept {
    sampling_ ^= sampling_ << 13U;
    sampling_ ^= sampling_ >> 7U;
    sampling_ ^= sampling_ << 17U;
    return static_cast<std::size_t>(sampling_ % bound);
}

// A few keys by chance, or all if there are few.
template <class Visit>
void keyspace::sample(Visit visit) {
    constexpr std::size_t some = 16;
    if (of_expiring(policy_)) {
        const std::size_t all = expiries_.size();
        for (std::size_t i = 0; i < std::min(some, all); ++i) {
            visit(expiries_.at(all <= some ? i : chance_below(all)));
        }
        return;
    }
    if (keys_.size() <= some) {
        for (key_node* n = keys_.first(); n != nullptr; n = n->after) visit(*n);
        return;
    }
    std::size_t met = 0;
    const auto count = [&](key_node& n) {
        ++met;
        visit(n);
    };
    (void)keys_.scan(chance_below(SIZE_MAX), some, count);
    // Near its end a walk meets few: one that is alone would go however often it is used.
    if (met < some) (void)keys_.scan(0, some - met, count);
}

key_node* keyspace::victim() {
    if (policy_ == eviction_policy::noeviction) return nullptr;
    if (policy_ == eviction_policy::volatile_ttl) {
        return expiries_.empty() ? nullptr : &expiries_.next();
    }
    key_node* chosen = nullptr;
    std::uint64_t longest = 0;
    std::size_t met = 0;
    const bool any = is_random(policy_);
    sample([&](key_node& n) {
        const std::uint64_t unused =
            any ? chance_below(1000) + 1 : marks_.disuse(n.value.used, now_ms_) + 1;
        if (++met == 1 || unused > longest) {
            chosen = &n;
            longest = unused;
        }
    });
    return chosen;
}

void keyspace::evict(key_node& n) {
    ++evicted_total_;
    if (!watched_.empty()) touch(n.key);
    erase(n);
}

}  // namespace holdfast::memory

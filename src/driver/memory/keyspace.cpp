// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/keyspace.hpp"

#include <algorithm>

namespace holdfast::memory {

key_node* keyspace::find(std::string_view key) {
    key_node* found = keys_.find(key);
    if (found == nullptr || !expired(*found)) return found;
    erase(*found);
    ++expired_total_;
    return nullptr;
}

key_node& keyspace::insert(std::string_view key, value v) {
    return keys_.insert(key, record{std::move(v), no_expiry, UINT32_MAX});
}

void keyspace::erase(key_node& n) noexcept {
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

}  // namespace holdfast::memory

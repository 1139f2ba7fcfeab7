// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/key_bench.hpp"

#include <mutex>
#include <string>
#include <vector>

/// What this process wrote last, so that its next transaction on the key need not read it first.
///
/// It may be outdated, and a transaction that relies on it finds out as it writes; one that has
/// nothing to write must read.
namespace holdfast::etcd {

/// Thread safety: all members may be called from any thread.
class recent_keys {
public:
    static constexpr std::size_t most = 4096;
    static constexpr std::size_t largest = 4096;

    /// False if one of the keys is not known.
    [[nodiscard]] bool find(const std::vector<std::string>& keys, stored_keys& into) {
        const std::scoped_lock guard(mutex_);
        stored_keys found;
        for (const std::string& key : keys) {
            const auto at = known_.find(key);
            if (at == known_.end()) return false;
            found.emplace(key, at->second);
        }
        into = std::move(found);
        return true;
    }

    void remember(const std::string& key, stored_key stored) {
        const std::scoped_lock guard(mutex_);
        if (stored.record && stored.record->image.bytes.size() > largest) {
            known_.erase(key);
            return;
        }
        if (known_.size() >= most) known_.clear();
        known_.insert_or_assign(key, std::move(stored));
    }

    void forget(const std::vector<std::string>& keys) {
        const std::scoped_lock guard(mutex_);
        for (const std::string& key : keys) known_.erase(key);
    }

private:
    std::mutex mutex_;
    stored_keys known_;
};

}  // namespace holdfast::etcd

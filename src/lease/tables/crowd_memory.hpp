// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>

/// Which names had more than one party when they were last seen: a hint that saves a round trip.
///
/// The quick way of a request fails on such a name, which costs a trip to learn. Whether the hint
/// is right does not matter: the full way serves every name.
namespace holdfast::sql {

/// Thread safety: all members may be called from any thread.
class crowd_memory {
public:
    /// So many names are remembered; one too many forgets all.
    static constexpr std::size_t most_names = 10'000;

    [[nodiscard]] bool has(const std::string& name) {
        const std::scoped_lock guard(mutex_);
        return names_.contains(name);
    }

    void note(std::string_view name, bool crowd) {
        const std::scoped_lock guard(mutex_);
        if (!crowd) {
            names_.erase(std::string(name));
            return;
        }
        if (names_.size() >= most_names) names_.clear();
        names_.emplace(name);
    }

private:
    std::mutex mutex_;
    std::unordered_set<std::string> names_;
};

}  // namespace holdfast::sql

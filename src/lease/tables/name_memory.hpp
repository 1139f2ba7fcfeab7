// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

/// What names on a server were like when they were last seen: a hint that saves a round trip, or a
/// dearer statement.
///
/// The quick way of a request fails on a name with more than one party, which costs a trip to
/// learn. A name whose gate is there is taken by a cheaper statement than one that may have none.
/// Whether the hint is right does not matter: the full way serves every name.
namespace holdfast::sql {

/// Thread safety: all members may be called from any thread.
class name_memory {
public:
    enum class state : std::uint8_t {
        unknown,
        gate,   ///< Its gate was there, and nobody but a holder at it.
        crowd,  ///< It had more than one party.
    };

    /// So many names are remembered; one too many forgets all.
    static constexpr std::size_t most_names = 10'000;

    [[nodiscard]] state of(const std::string& name) {
        const std::scoped_lock guard(mutex_);
        const auto found = names_.find(name);
        return found == names_.end() ? state::unknown : found->second;
    }

    void note(std::string_view name, state seen) {
        const std::scoped_lock guard(mutex_);
        if (names_.size() >= most_names) names_.clear();
        names_.insert_or_assign(std::string(name), seen);
    }

private:
    std::mutex mutex_;
    std::unordered_map<std::string, state> names_;
};

}  // namespace holdfast::sql

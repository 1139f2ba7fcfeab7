// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

/// Which keys go when memory is short: Redis's eight policies, by their names.
///
/// LRU and LFU are approximations, as in Redis: a few keys are looked at, and the one that was used
/// longest ago or least often goes. LRU marks are the number of the use, so two uses are never
/// equal. LFU marks are Redis's: a counter that grows the slower the larger it is and loses one for
/// each minute without a use, so that what was popular yesterday goes too.
namespace holdfast::memory {

enum class eviction_policy : std::uint8_t {
    noeviction,       ///< Commands that need memory are refused.
    allkeys_lru,      ///< The key that was used longest ago.
    allkeys_lfu,      ///< The key that is used least often.
    allkeys_random,   ///< Any.
    volatile_lru,     ///< As above, of those that expire.
    volatile_lfu,     ///< As above, of those that expire.
    volatile_random,  ///< As above, of those that expire.
    volatile_ttl      ///< The key that expires soonest.
};

[[nodiscard]] std::string_view name_of(eviction_policy policy) noexcept;
/// "allkeys-lru", in any case; nothing if there is no such policy.
[[nodiscard]] std::optional<eviction_policy> eviction_policy_named(std::string_view name) noexcept;
/// All names, in the order of the enum.
[[nodiscard]] std::span<const std::string_view> eviction_policy_names() noexcept;

/// Does it look only at keys that expire?
[[nodiscard]] bool of_expiring(eviction_policy policy) noexcept;
[[nodiscard]] bool is_random(eviction_policy policy) noexcept;

/// "64mb" as Redis reads it: bytes, or with b, k, kb, m, mb, g, gb; k is 1000 and kb 1024. Nothing
/// if it is no such amount.
[[nodiscard]] std::optional<std::size_t> parse_memory_amount(std::string_view text) noexcept;

/// The marks that say how long ago, or how seldom, a key was used.
class use_marks {
public:
    void follow(eviction_policy policy) noexcept;

    /// The mark of a new key.
    [[nodiscard]] std::uint32_t fresh(std::int64_t now_ms) noexcept;
    /// The key was used.
    void used(std::uint32_t& mark, std::int64_t now_ms) noexcept;
    /// The larger, the sooner it goes.
    [[nodiscard]] std::uint64_t disuse(std::uint32_t mark, std::int64_t now_ms) const noexcept;

private:
    bool by_frequency_ = false;
    std::uint32_t uses_ = 0;
    std::uint32_t chance_ = 0x9E3779B9U;
};

}  // namespace holdfast::memory

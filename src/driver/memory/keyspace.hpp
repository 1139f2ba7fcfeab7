// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/eviction.hpp"
#include "driver/memory/expiry_heap.hpp"
#include "driver/memory/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

/// The keys, their values, and when they expire.
///
/// Time is a number that the caller sets once per command (`set_now`), so that a script or a
/// transaction sees one time from start to end. A key is gone once that time has passed its expiry:
/// whoever looks at it removes it (lazy), and `expire_due` removes a bounded number of others
/// (periodic), soonest first.
///
/// Under a bound on memory it also knows about how many bytes the keys take and when or how often
/// each was used (eviction.hpp). Without one that costs a comparison.
///
/// Requires: the caller holds the engine's mutex.
namespace holdfast::memory {

constexpr std::int64_t no_expiry = -1;

struct record {
    value data;
    std::int64_t expires_ms = no_expiry;
    std::uint32_t heap_place = UINT32_MAX;
    std::uint32_t used = 0;  ///< The mark of its last uses, by the policy.
    std::size_t bytes = 0;   ///< As counted last; 0 while nobody counts.
};

using key_node = dict<record>::node;

struct heap_place_of {
    std::uint32_t& operator()(key_node& n) const noexcept { return n.value.heap_place; }
};

/// Whether a key that a connection watches has changed.
struct watcher {
    bool touched = false;
};

class keyspace {
public:
    explicit keyspace(std::uint64_t seed) : keys_(seed), sampling_(seed | 1U) {}

    void set_now(std::int64_t now_ms) noexcept { now_ms_ = now_ms; }
    [[nodiscard]] std::int64_t now_ms() const noexcept { return now_ms_; }

    [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }
    [[nodiscard]] std::size_t expiring() const noexcept { return expiries_.size(); }
    [[nodiscard]] const dict<record>& keys() const noexcept { return keys_; }
    [[nodiscard]] std::uint64_t seed() const noexcept { return keys_.seed(); }

    /// The key's node; null if it is not there or has expired (then it is removed).
    [[nodiscard]] key_node* find(std::string_view key);

    /// The same without removing it: for a walk that must not change the table.
    [[nodiscard]] bool expired(const key_node& n) const noexcept {
        return n.value.expires_ms != no_expiry && now_ms_ > n.value.expires_ms;
    }

    /// Requires: the key is not there.
    key_node& insert(std::string_view key, value v);

    /// Does not tell watchers: `modified` does.
    void erase(key_node& n) noexcept;
    void clear();

    void set_expiry(key_node& n, std::int64_t when_ms);
    void drop_expiry(key_node& n) noexcept;

    /// Removes up to `most` keys whose time has passed; answers how many.
    std::size_t expire_due(std::size_t most) noexcept;
    [[nodiscard]] std::uint64_t expired_total() const noexcept { return expired_total_; }

    /// A command changed this key.
    void modified(std::string_view key) {
        if (!watched_.empty()) touch(key);
        if (counts_) recount(key);
    }

    /// Counts bytes and marks uses as the policy needs it, from now on, or no longer. What a key
    /// holds is estimated from a few of its elements, as MEMORY USAGE does in Redis.
    void count_bytes(bool on, eviction_policy policy);
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

    /// The key that the policy would let go first, among a few that are looked at; null if it has
    /// none to offer. volatile-ttl looks at all.
    [[nodiscard]] key_node* victim();
    /// Lets it go, for lack of memory.
    void evict(key_node& n);
    [[nodiscard]] std::uint64_t evicted_total() const noexcept { return evicted_total_; }

    void watch(std::string_view key, watcher& w);
    void unwatch(std::string_view key, watcher& w);

private:
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept { return hash_bytes(text, 0); }
    };

    void touch(std::string_view key);
    void recount(std::string_view key);
    void set_bytes(key_node& n, std::size_t bytes) noexcept;
    [[nodiscard]] std::size_t chance_below(std::size_t bound) noexcept;
    template <class Visit>
    void sample(Visit visit);

    dict<record> keys_;
    expiry_heap<key_node, heap_place_of> expiries_;
    std::unordered_map<std::string, std::vector<watcher*>, text_hash, std::equal_to<>> watched_;
    std::int64_t now_ms_ = 0;
    std::uint64_t expired_total_ = 0;
    std::uint64_t evicted_total_ = 0;
    std::size_t bytes_ = 0;
    std::uint64_t sampling_;  ///< Which keys are looked at: by chance, from the seed.
    use_marks marks_;
    eviction_policy policy_ = eviction_policy::noeviction;
    bool counts_ = false;
};

}  // namespace holdfast::memory

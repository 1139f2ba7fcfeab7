// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/names.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Holders and waiters of names, as an operator sees them. Owners are secret and not included.
namespace holdfast {

/// What a client reports about itself: for people, not verified. Empty if the engine does not know
/// it: another program's lock, or a client that has not reported it yet.
struct client_label {
    std::string host;
    std::int64_t pid = 0;
    std::string program;

    friend bool operator==(const client_label&, const client_label&) = default;
};

/// A holder of a name, or of some permits of it.
struct holder_info {
    client_label who;
    /// Since when, by the engine's time; empty if it does not know.
    std::optional<wall_time> since;
    /// 0 if the engine does not know it (yet): another program's lock, or a recent one.
    fencing_token fence;
    /// Empty if it never expires (another program's lock without a ttl).
    std::optional<duration> remaining;
    std::uint32_t permits = 1;
    /// The id of its client, which is no secret; empty if the engine does not know it.
    std::string client;
    /// Whether the client that asked holds it. Set by the client, not by its engine.
    bool mine = false;
    /// What it says of itself (acquire_options::note); empty if it says nothing.
    std::string note = {};
};

/// A waiter in the engine's queue. The engine does not know those behind it in its own process.
struct waiter_info {
    client_label who;
    std::optional<wall_time> since;
    lease_mode mode;
    std::string client;  ///< As in holder_info …
    bool mine = false;   ///< … and this too.
};

/// A holder that evict() evicted.
struct eviction_info {
    std::string client;  ///< As in holder_info.
    std::string reason;
};

/// A name with holders or waiters.
struct lease_info {
    std::string name;
    lease_mode mode;  ///< Of its holders. For permits: all that are held, of how many.
    /// The latest of its holders'.
    fencing_token fence;
    /// Until the last of its holders expires; empty if one never does.
    std::optional<duration> remaining;
    /// The number of permits, if resize() has set it; only inspect() fills it.
    std::optional<std::uint32_t> resized;
    std::uint32_t waiters = 0;
    std::vector<holder_info> holders;  ///< At most some hundred, the oldest first.
    std::vector<waiter_info> queue;    ///< In order; only inspect() fills it.

    /// Whether anyone holds it; otherwise it only has waiters.
    [[nodiscard]] bool held() const noexcept { return !holders.empty(); }
    /// Whether the client that asked holds it, perhaps among others.
    [[nodiscard]] bool mine() const noexcept {
        return std::ranges::any_of(holders, &holder_info::mine);
    }
};

}  // namespace holdfast

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

/// Who holds what, and who waits for it, as an operator sees it. Owners are secrets and not here.
namespace holdfast {

/// Who a client says it is: for people, not proven. Empty if the engine does not know it: another
/// program's lock, or a client that could not introduce itself.
struct client_label {
    std::string host;
    std::int64_t pid = 0;
    std::string program;

    friend bool operator==(const client_label&, const client_label&) = default;
};

/// One that holds a name, or some permits of it.
struct holder_info {
    client_label who;
    /// Since when, by the engine's time; empty if it does not know.
    std::optional<wall_time> since;
    /// 0 if the engine does not know it (yet): another program's lock, or one that is too young.
    fencing_token fence;
    /// Empty if it never expires (another program's lock without a ttl).
    std::optional<duration> remaining;
    std::uint32_t permits = 1;
    /// The id of its client, which is no secret; empty if the engine does not know it.
    std::string client;
    /// It is held by the very client that asked. Set by the client, not by its engine.
    bool mine = false;
};

/// One that waits in the engine's line. Those behind it in its own process are not known there.
struct waiter_info {
    client_label who;
    std::optional<wall_time> since;
    lease_mode mode;
    std::string client;  ///< As in holder_info …
    bool mine = false;   ///< … and this too.
};

/// One from whom a name was taken by evict().
struct eviction_info {
    std::string client;  ///< As in holder_info.
    std::string reason;
};

/// One name that is held or waited for.
struct lease_info {
    std::string name;
    lease_mode mode;  ///< Of its holders. For permits: all that are held, of how many.
    /// The latest of its holders'.
    fencing_token fence;
    /// Until the last of its holders is over; empty if one never is.
    std::optional<duration> remaining;
    /// How many permits there are for everybody, if resize() has said so; only inspect() fills it.
    std::optional<std::uint32_t> resized;
    std::uint32_t waiters = 0;
    std::vector<holder_info> holders;  ///< At most some hundred, the oldest first.
    std::vector<waiter_info> queue;    ///< In order; only inspect() fills it.

    /// By anyone; otherwise it is only waited for.
    [[nodiscard]] bool held() const noexcept { return !holders.empty(); }
    /// By the client that asked, among others perhaps.
    [[nodiscard]] bool mine() const noexcept {
        return std::ranges::any_of(holders, &holder_info::mine);
    }
};

}  // namespace holdfast

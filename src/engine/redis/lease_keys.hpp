// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/names.hpp>

#include <string>
#include <string_view>

/// Where a name's lease is kept, as Redis keys.
///
///     lock:N           the lock itself, a plain string: prefix and name, nothing else
///     {lock:N}:line    who waits, in order
///     {lock:N}:waiters what is known of each
///     {lock:N}:evicted why those lost it from whom it was taken away
///     {lock:N}:holders who holds it, if they are several
///     {lock:N}:limit   how many permits there are, if that was changed
///     holdfast:fence   the counter of fences
///     holdfast:boot    which server was seen here last
///     holdfast:client: and an id: who that client is (introduction.hpp)
///
/// All keys of a name are in one hash slot. A name with a brace of its own ("a{b}c", "a}b") gets a
/// computed tag that lands in the same slot: `{1234}lock:a{b}c:line`. So whatever stands beside a
/// lock starts with a brace, and no name's lock can be another's line. In a Cluster fence and boot
/// exist once for each slot, with a computed tag in front: `{1234}holdfast:fence`.
namespace holdfast {

/// Whether a counter is shared by all names of a server, or by those of a slot.
enum class key_scope : std::uint8_t { server, slot };

struct lease_keys {
    std::string lock;
    std::string line;
    std::string waiters;
    std::string evicted;
    std::string holders;
    std::string limit;
    std::string_view fence;  ///< Lives for ever.
    std::string_view boot;   ///< Lives for ever.
};

[[nodiscard]] std::string lock_key(std::string_view prefix, const lock_name& name);

/// The counter of fences for a lock's key. The view lives for ever.
[[nodiscard]] std::string_view fence_key(std::string_view lock, key_scope scope);

/// A key in the same slot as `key`: "{key}:end", or with a computed tag.
[[nodiscard]] std::string key_beside(std::string_view key, std::string_view end);

/// Where it is written why an owner's lease was taken away.
[[nodiscard]] std::string evicted_key(std::string_view lock);
/// The key of a lock's holders, and that of its permits.
[[nodiscard]] std::string holders_key(std::string_view lock);
[[nodiscard]] std::string limit_key(std::string_view lock);

[[nodiscard]] lease_keys keys_of(std::string_view prefix, const lock_name& name, key_scope scope);

/// Does it look like a key beside a lock? Only a lock without a prefix can.
[[nodiscard]] bool is_side_key(std::string_view key) noexcept;

/// Is it one of the keys that belong to no name?
[[nodiscard]] bool is_shared_key(std::string_view key) noexcept;

/// A short text that hashes to the slot. Lives for ever.
[[nodiscard]] const std::string& slot_tag(unsigned slot);

}  // namespace holdfast

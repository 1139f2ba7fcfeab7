// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/own_keys.hpp"
#include "core/text_arena.hpp"

#include <holdfast/names.hpp>

#include <string>
#include <string_view>

/// Where a name's lease is kept, as Redis keys.
///
///     lock:N           the lock itself, a plain string: prefix and name, nothing else
///     {lock:N}:line    who waits, in order
///     {lock:N}:waiters:OWNER  what is known of each
///     {lock:N}:evicted why those lost it from whom it was taken away
///     {lock:N}:holders who holds it, if they are several
///     {lock:N}:note:OWNER  what a holder says of itself
///     {lock:N}:limit   how many permits there are, if that was changed
///     holdfast:fence   the counter of fences
///     holdfast:boot    which server was seen here last
///     holdfast:client: and an id: who that client is (label_writer.hpp)
///
/// All keys of a name are in one hash slot. A name with a brace of its own ("a{b}c", "a}b") gets a
/// computed tag that lands in the same slot: `{1234}lock:a{b}c:line`. So whatever stands beside a
/// lock starts with a brace, and no name's lock can be another's line. In a Cluster fence and boot
/// exist once for each slot, with a computed tag in front: `{1234}holdfast:fence`. A name that
/// together with its prefix would be one of these keys is refused (core/own_keys.hpp).
namespace holdfast {

/// Stands behind the owner in every value of ours, so that no other program's token, whatever its
/// digits and colons, is taken for one.
inline constexpr std::string_view our_mark = ":hf:";

/// Whether a counter is shared by all names of a server, or by those of a slot.
enum class key_scope : std::uint8_t { server, slot };

struct lease_keys {
    std::string_view lock;
    std::string_view line;
    std::string_view waiters;  ///< What waiter_key() begins with.
    std::string_view evicted;
    std::string_view holders;
    std::string_view limit;
    std::string_view fence;
    std::string_view boot;
};

/// The counter of fences for a lock's key. The view lives for ever.
[[nodiscard]] std::string_view fence_key(std::string_view lock, key_scope scope);

/// Which server was seen last, for a lock's key. The view lives for ever.
[[nodiscard]] std::string_view boot_key(std::string_view lock, key_scope scope);

/// A key in the same slot as `key`: "{key}:end", or with a computed tag.
[[nodiscard]] std::string_view key_beside(detail::text_arena& room, std::string_view key,
                                          std::string_view end);

/// All keys of a name, or of its lock's key, which is in `room`.
[[nodiscard]] lease_keys keys_of(detail::text_arena& room, std::string_view prefix,
                                 const lock_name& name, key_scope scope);
[[nodiscard]] lease_keys keys_of(detail::text_arena& room, std::string_view lock, key_scope scope);

// Some of them, for whoever needs no more.
[[nodiscard]] std::string_view lock_key(detail::text_arena& room, std::string_view prefix,
                                        const lock_name& name);
[[nodiscard]] std::string_view evicted_key(detail::text_arena& room, std::string_view lock);
[[nodiscard]] std::string_view holders_key(detail::text_arena& room, std::string_view lock);
[[nodiscard]] std::string_view limit_key(detail::text_arena& room, std::string_view lock);
[[nodiscard]] std::string_view waiter_key(detail::text_arena& room, std::string_view waiters,
                                          std::string_view owner);

/// What the keys of a name's notes begin with, and the one of an owner.
[[nodiscard]] std::string_view notes_key(detail::text_arena& room, std::string_view lock);
[[nodiscard]] std::string_view note_key(detail::text_arena& room, std::string_view notes,
                                        std::string_view owner);

/// A short text that hashes to the slot. Lives for ever.
[[nodiscard]] const std::string& slot_tag(unsigned slot);

}  // namespace holdfast

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
///     holdfast:fence   the counter of fences
///
/// All keys of a name are in one hash slot. A name that brings a hash tag of its own ("a{b}c")
/// keeps it: its other keys are then `lock:a{b}c:line`. One whose braces do not make a tag but
/// would break ours ("a}b") gets a computed tag that lands in the same slot.
namespace holdfast {

struct lease_keys {
    std::string lock;
    std::string line;
    std::string waiters;
};

[[nodiscard]] lease_keys keys_of(std::string_view prefix, const lock_name& name);

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/ordered/queue_entry.hpp"

#include <string>
#include <string_view>

/// The value of a queue entry, as it is stored: lines of text, so that it can be read with the
/// engine's own tools (docs/internals/ordered_entries.md).
///
///     holdfast 1
///     owner 6f1d…            32 hex digits
///     mode permit 2 of 5     or: exclusive, shared
///     since 1700000000000    milliseconds since 1970, by the owner's clock
///     made 4294967303        what its fence counts, if the entry was moved (ZooKeeper)
///     ttl 30000              milliseconds that its owner asked for (ZooKeeper)
///     host build-7
///     pid 4711
///     program worker
///     note migrating shard 7
///
/// A line that is not known is skipped, so that a later version can add some.
namespace holdfast::ordered {

[[nodiscard]] std::string entry_text(const queue_entry& entry);

/// Reads a value into the entry. One that is not ours leaves it another program's.
void read_entry_text(std::string_view text, queue_entry& entry);

}  // namespace holdfast::ordered

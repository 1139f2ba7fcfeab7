// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Notices fork(): a child holds nothing, and must not use its parent's connections.
///
/// A child has a copy of every lease but none of the threads that keep them, and a parent that
/// still holds them. So everything that holds notes the generation in which it was made, and counts
/// as lost in any other.
namespace holdfast::detail {

/// How many forks lie between this process and the first that asked.
[[nodiscard]] unsigned fork_generation() noexcept;

/// As if this were a child so many forks further on: for a simulation, which has one process.
void pretend_fork(int forks) noexcept;

}  // namespace holdfast::detail

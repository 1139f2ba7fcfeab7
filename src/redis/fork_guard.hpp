// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Knows whether this process is still the one that made an object.
///
/// A child of fork() inherits sockets that the parent goes on using, and mutexes of threads that do
/// not exist. So everything made before the fork answers `unavailable` in the child.
namespace holdfast::redis {

/// Grows by one in every child of fork().
[[nodiscard]] std::uint64_t process_generation() noexcept;

}  // namespace holdfast::redis

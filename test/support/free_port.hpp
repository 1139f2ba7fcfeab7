// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Ports for servers that a test starts.
namespace holdfast::test {

/// A loopback port that is free now, and that no other call in any test process on this machine
/// gets while this process lives. The port + 10000 is free too: Redis Cluster uses it for its bus.
/// Throws std::runtime_error when none is left.
[[nodiscard]] std::uint16_t free_port();

}  // namespace holdfast::test

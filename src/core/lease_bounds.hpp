// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <chrono>
#include <cstdint>

/// Bounds of leases that several parts and the Lua scripts must agree on.
///
/// The build reads the lines `inline constexpr std::int64_t name = digits;` of this file for the
/// scripts (cmake/EmbedLua.cmake), so each number is written down here and nowhere else.
namespace holdfast::constant {

inline constexpr std::int64_t shortest_ttl_ms = 10;
inline constexpr std::int64_t longest_ttl_ms = 86'400'000;

/// A waiter polls at least this often, so a push that was lost costs it no more.
inline constexpr std::int64_t longest_look_ms = 1000;

}  // namespace holdfast::constant

namespace holdfast::detail {

inline constexpr duration shortest_ttl = std::chrono::milliseconds(constant::shortest_ttl_ms);
inline constexpr duration longest_ttl = std::chrono::milliseconds(constant::longest_ttl_ms);
inline constexpr duration longest_poll = std::chrono::milliseconds(constant::longest_look_ms);

}  // namespace holdfast::detail

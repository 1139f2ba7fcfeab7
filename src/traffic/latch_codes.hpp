// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// What latch.lua answers first, which writes `code.other_count`: the build puts the numbers there
/// (cmake/EmbedLua.cmake).
namespace holdfast::code {

inline constexpr std::int64_t latch_stands = 1;
inline constexpr std::int64_t other_count = -1;
inline constexpr std::int64_t too_many = -2;
inline constexpr std::int64_t round_over = -3;

}  // namespace holdfast::code

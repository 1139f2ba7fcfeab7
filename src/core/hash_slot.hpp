// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

/// Which of Redis Cluster's slots a key is in.
///
/// The slot is CRC-16/XMODEM of the key modulo 16384. If the key has a hash tag, something between
/// its first '{' and the next '}', only the tag counts: so keys that must be together can be.
namespace holdfast {

inline constexpr unsigned slot_count = 16384;

/// What is between the first '{' and the next '}'; empty if there is nothing.
[[nodiscard]] std::string_view hash_tag(std::string_view key) noexcept;

[[nodiscard]] unsigned hash_slot(std::string_view key) noexcept;

}  // namespace holdfast

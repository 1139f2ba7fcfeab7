// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

/// A moment of expiry as commands write it: a unit, and a number among the words.
namespace holdfast::memory {

struct call;

enum class expiry_unit : std::uint8_t { seconds, milliseconds, at_seconds, at_milliseconds };

/// EX, PX, EXAT, PXAT.
[[nodiscard]] std::optional<expiry_unit> expiry_unit_of(std::string_view word) noexcept;

struct expiry_argument {
    expiry_unit unit;
    std::size_t at;  ///< Which word is the number.
};

/// The moment in unix milliseconds. Refuses what is not a number, what overflows, and what is not
/// positive.
[[nodiscard]] std::int64_t expiry_time(const call& c, expiry_argument e);

/// The same, but negative and past moments pass: for EXPIRE, which then removes the key.
[[nodiscard]] std::int64_t any_expiry_time(const call& c, expiry_argument e);

}  // namespace holdfast::memory

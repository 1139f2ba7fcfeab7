// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// A value as bytes, and back: what DUMP and RESTORE are to Redis, in a form of our own.
///
/// A letter for the type, then its texts one after the other, each with its length before it
/// (LEB128, seven bits a byte): s text; h field value …; l element …; t member …; z member and
/// score …. A score is the eight bytes of its double. A stream is x and, with counts before each
/// list: the last id, the largest that was deleted, how many were ever added, the entries, the
/// groups with their consumers and what is pending. The order is the value's own, so the same value
/// has the same bytes. Bytes that are not such an image are refused: they come from a file.
namespace holdfast::memory {

[[nodiscard]] std::string to_bytes(const value& v);

/// Nothing if these are not the bytes of a value. `seed` is for its hash tables.
[[nodiscard]] std::optional<value> from_bytes(std::string_view bytes, std::uint64_t seed);

}  // namespace holdfast::memory

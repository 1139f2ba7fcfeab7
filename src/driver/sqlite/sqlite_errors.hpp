// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

#include <cstdint>
#include <string_view>

struct sqlite3;

/// What SQLite's result codes mean to us: one code, and one sentence that says what to do. It ends
/// with SQLite's own words in brackets, for whoever searches a fault.
namespace holdfast::sqlite {

/// What was being done.
enum class deed : std::uint8_t { opening, reading, writing };

/// What the last call on `db` failed with.
[[nodiscard]] error trouble(sqlite3* db, int code, std::string_view path, deed doing);

/// A file that could not be opened at all.
[[nodiscard]] error cannot_open(int system_errno, std::string_view path);

}  // namespace holdfast::sqlite

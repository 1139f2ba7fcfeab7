// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/sqlite/sqlite_options.hpp"

#include <holdfast/error.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

struct sqlite3;

/// From a path to a database that is ours: opened, checked, and with its tables.
///
/// A file that is not ours is refused and not written to. Ours are known by the application id in
/// their header; an empty file, or none, becomes one. One that cannot be written is opened to be
/// read.
namespace holdfast::sqlite {

struct closer {
    void operator()(sqlite3* db) const noexcept;
};
using handle = std::unique_ptr<sqlite3, closer>;

/// The first four letters of ours, as SQLite keeps them: "Hold".
inline constexpr std::int64_t application_id = 0x486F6C64;

/// How the function holdfast_now() in the statements reads the time, µs since 1970.
using moment_reader = std::int64_t (*)(void* self);
/// Where the function holdfast_tell(number) leaves what it was told.
using number_taker = void (*)(void* self, std::int64_t number);
/// Called while another process has it locked; false gives up.
using busy_waiter = int (*)(void* self, int count);

struct hooks {
    void* self;
    moment_reader now;
    number_taker tell;
    busy_waiter wait;
};

/// A database, and why it can only be read, if that is so: the file, or its file system, may be
/// read-only for us, or the disk full.
struct database {
    handle db;
    std::optional<error> only_read;
};

/// Errors: invalid_argument (no such directory, no regular file, several names), denied, corrupt
/// (not ours, or damaged), unsupported (a network file system, another version), unavailable.
[[nodiscard]] result<database> open_database(const sqlite_options& options, const hooks& use);

/// One number that a statement answers.
[[nodiscard]] result<std::int64_t> ask_number(sqlite3* db, const std::string& text,
                                              const std::string& path);

/// A statement that answers nothing.
[[nodiscard]] result<void> carry_out(sqlite3* db, const std::string& text, const std::string& path);

}  // namespace holdfast::sqlite

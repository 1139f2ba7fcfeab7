// SPDX-License-Identifier: Apache-2.0
#include "engine/sqlite/sqlite_trouble.hpp"

#include <fmt/format.h>

#include <sqlite3.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

namespace holdfast::sqlite {

error cannot_open(int system_errno, std::string_view path) {
    const std::string folder = std::filesystem::path(path).parent_path().string();
    switch (system_errno) {
        case ENOENT:
            if (std::error_code ignored; std::filesystem::is_directory(folder, ignored)) {
                return {errc::invalid_argument,
                        fmt::format("sqlite:{}: no file can be made in '{}': name another place",
                                    path, folder)};
            }
            return {errc::invalid_argument,
                    fmt::format("sqlite:{}: the directory '{}' does not exist: make it first", path,
                                folder)};
        case EACCES:
        case EPERM:
            return {errc::denied,
                    fmt::format("sqlite:{}: no permission to open it for writing", path)};
        case EROFS:
            return {errc::denied, fmt::format("sqlite:{}: the file system is read-only", path)};
        case EISDIR:
            return {errc::invalid_argument,
                    fmt::format("sqlite:{}: this is a directory: name a file in it", path)};
        default:
            return {errc::unavailable,
                    fmt::format(
                        "sqlite:{}: cannot be opened: {}", path,
                        system_errno == 0 ? "no reason was given" : std::strerror(system_errno))};
    }
}

error trouble(sqlite3* db, int code, std::string_view path) {
    const int system_errno = ::sqlite3_system_errno(db);
    switch (code & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {errc::unavailable,
                    fmt::format("sqlite:{}: another process has it locked and did not let go in "
                                "time; nothing was done",
                                path)};
        case SQLITE_FULL:
            return {errc::unavailable,
                    fmt::format("sqlite:{}: the disk is full, or the file at its largest size; "
                                "nothing was done",
                                path)};
        case SQLITE_READONLY:
            return {errc::denied,
                    fmt::format("sqlite:{}: the file is read-only for this process", path)};
        case SQLITE_PERM:
        case SQLITE_AUTH: return {errc::denied, fmt::format("sqlite:{}: no permission", path)};
        case SQLITE_CANTOPEN: return cannot_open(system_errno, path);
        case SQLITE_NOTADB:
            return {
                errc::corrupt,
                fmt::format("sqlite:{}: this file is not a database; it was not touched", path)};
        case SQLITE_ERROR:  // a table of ours is missing, or not as we made it
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_CORRUPT:
            return {errc::corrupt, fmt::format("sqlite:{}: the database is damaged: {}", path,
                                               ::sqlite3_errmsg(db))};
        case SQLITE_IOERR:
            if (system_errno == ENOSPC || system_errno == EDQUOT) {
                return {errc::unavailable,
                        fmt::format("sqlite:{}: the disk is full; nothing was done", path)};
            }
            return {errc::unavailable,
                    fmt::format(
                        "sqlite:{}: reading or writing failed: {}", path,
                        system_errno == 0 ? ::sqlite3_errmsg(db) : std::strerror(system_errno))};
        default:
            return {errc::unavailable,
                    fmt::format("sqlite:{}: {} ({})", path, ::sqlite3_errmsg(db), code)};
    }
}

}  // namespace holdfast::sqlite

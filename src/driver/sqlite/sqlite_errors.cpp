// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/sqlite_errors.hpp"

#include <fmt/format.h>

#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

namespace holdfast::sqlite {
namespace {

std::string_view word_for(deed doing) {
    switch (doing) {
        case deed::opening: return "opening";
        case deed::reading: return "reading";
        case deed::writing: return "writing";
    }
    return "";
}

// "(SQLite, writing: disk I/O error, code 778, No space left on device)"
std::string own_words(sqlite3* db, int code, deed doing) {
    const bool last = (::sqlite3_errcode(db) & 0xFF) == (code & 0xFF);
    const int system_errno = last ? ::sqlite3_system_errno(db) : 0;
    return fmt::format("(SQLite, {}: {}, code {}{}{})", word_for(doing),
                       last ? ::sqlite3_errmsg(db) : ::sqlite3_errstr(code),
                       last ? ::sqlite3_extended_errcode(db) : code, system_errno == 0 ? "" : ", ",
                       system_errno == 0 ? "" : std::strerror(system_errno));
}

bool on_read_only_system(std::string_view path) {
    const std::string file(path);
    return ::access(file.c_str(), W_OK) != 0 && errno == EROFS;
}

error no_room_beside(std::string_view path) {
    return {errc::denied,
            fmt::format("sqlite:{}: this user may not write its directory, where SQLite keeps its "
                        "log",
                        path)};
}

// If the file itself can be read, it is those beside it that cannot be opened.
error cannot_use(int system_errno, std::string_view path) {
    const std::string file(path);
    if (::access(file.c_str(), R_OK) != 0) return cannot_open(system_errno, path);
    if (system_errno == EACCES || system_errno == EPERM) return no_room_beside(path);
    return {errc::unavailable,
            fmt::format("sqlite:{}: the files that SQLite keeps beside it cannot be opened: {}",
                        path, std::strerror(system_errno))};
}

error explained(sqlite3* db, int code, std::string_view path, deed doing) {
    const int system_errno = ::sqlite3_system_errno(db);
    const char* const undone = doing == deed::writing ? "; nothing was done" : "";
    switch (code & 0xFF) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {errc::unavailable,
                    fmt::format("sqlite:{}: another process has it locked and did not unlock it in "
                                "time{}",
                                path, undone)};
        case SQLITE_FULL:
            return {errc::unavailable,
                    fmt::format("sqlite:{}: the disk is full, or the file at its largest size{}",
                                path, undone)};
        case SQLITE_READONLY:
            if (code == SQLITE_READONLY_DIRECTORY) return no_room_beside(path);
            return {errc::denied,
                    fmt::format("sqlite:{}: {}", path,
                                on_read_only_system(path) ? "the file system is read-only"
                                                          : "this user may only read the file")};
        case SQLITE_PERM:
        case SQLITE_AUTH: return {errc::denied, fmt::format("sqlite:{}: no permission", path)};
        case SQLITE_CANTOPEN: return cannot_use(system_errno, path);
        case SQLITE_NOTADB:
            return {
                errc::corrupt,
                fmt::format("sqlite:{}: this file is not a database; it was not touched", path)};
        case SQLITE_ERROR:  // a table of ours is missing, or not as we made it
        case SQLITE_CONSTRAINT:
        case SQLITE_MISMATCH:
        case SQLITE_CORRUPT:
            return {errc::corrupt,
                    fmt::format("sqlite:{}: the database is damaged: end all that use it, and move "
                                "it away with the files beside it; a new one is made, and the "
                                "leases in this one are lost",
                                path)};
        case SQLITE_IOERR:
            if (system_errno == ENOSPC || system_errno == EDQUOT) {
                return {errc::unavailable,
                        fmt::format("sqlite:{}: the disk is full{}", path, undone)};
            }
            return {errc::unavailable,
                    fmt::format(
                        "sqlite:{}: reading or writing failed: {}", path,
                        system_errno == 0 ? ::sqlite3_errmsg(db) : std::strerror(system_errno))};
        default:
            return {errc::unavailable, fmt::format("sqlite:{}: {}", path, ::sqlite3_errmsg(db))};
    }
}

}  // namespace

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
        case EPERM: return {errc::denied, fmt::format("sqlite:{}: no permission to open it", path)};
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

error trouble(sqlite3* db, int code, std::string_view path, deed doing) {
    error why = explained(db, code, path, doing);
    why.detail += ' ';
    why.detail += own_words(db, code, doing);
    return why;
}

}  // namespace holdfast::sqlite

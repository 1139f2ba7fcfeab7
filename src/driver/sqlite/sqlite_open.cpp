// SPDX-License-Identifier: Apache-2.0
#include "driver/sqlite/sqlite_open.hpp"

#include "driver/sqlite/clock_table.hpp"
#include "driver/sqlite/sqlite_connection.hpp"
#include "driver/sqlite/sqlite_errors.hpp"
#include "lease/tables/sql_statements.hpp"

#include <fmt/format.h>

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::sqlite {
namespace {

// SQLite's shared memory and locks need one machine; these are for several.
bool on_network(const std::string& path) {
    constexpr std::array<unsigned long, 7> shared{
        0x6969,      // NFS
        0x517B,      // SMB
        0xFE534D42,  // SMB2
        0xFF534D42,  // CIFS
        0x01021997,  // 9P
        0x00C36400,  // Ceph
        0x5346414F,  // AFS
    };
    struct statfs about{};
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (::statfs(folder.empty() ? "." : folder.c_str(), &about) != 0) return false;
    const auto kind = static_cast<unsigned long>(about.f_type) & 0xFFFFFFFFUL;
    return std::ranges::find(shared, kind) != shared.end();
}

// Before SQLite touches it: to open a pipe waits for whoever writes into it, and beside a device
// nothing may be made.
result<void> check_kind(const std::string& path) {
    struct stat about{};
    if (::stat(path.c_str(), &about) != 0) return {};  // not there yet, or SQLite says why not
    if (S_ISDIR(about.st_mode)) return std::unexpected(cannot_open(EISDIR, path));
    if (!S_ISREG(about.st_mode)) {
        return fail(errc::invalid_argument,
                    fmt::format("sqlite:{}: this is not a regular file: name another one", path));
    }
    // By two names it would have two logs, and so two holders at once.
    if (about.st_nlink > 1) {
        return fail(errc::invalid_argument,
                    fmt::format("sqlite:{}: the file has other names too (hard links), and SQLite "
                                "keeps a log beside each, so they would not exclude each other: "
                                "remove the other names, or name another file",
                                path));
    }
    return {};
}

void tell_now(sqlite3_context* context, int /*count*/, sqlite3_value** /*values*/) {
    const auto* use = static_cast<const hooks*>(::sqlite3_user_data(context));
    ::sqlite3_result_int64(context, use->now(use->self));
}

void tell_number(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
    const auto* use = static_cast<const hooks*>(::sqlite3_user_data(context));
    use->tell(use->self, ::sqlite3_value_int64(values[0]));
    ::sqlite3_result_value(context, values[0]);
}

void forget_hooks(void* use) {
    delete static_cast<hooks*>(use);
}

enum class whose : std::uint8_t { ours, nobodys };

error anothers(const std::string& path) {
    return {errc::corrupt,
            fmt::format("sqlite:{}: this is another program's database; it was not touched", path)};
}

// Before a file is copied: another program's may be large. A small one SQLite may look at.
result<void> check_header(std::string_view head, const std::string& path, std::int64_t size) {
    constexpr std::size_t id_at = 68;  // four bytes, the largest first
    constexpr std::int64_t small = 65536;
    if (head.size() < id_at + 4 || !head.starts_with("SQLite format 3")) {
        return fail(
            errc::corrupt,
            fmt::format("sqlite:{}: this file is not a database; it was not touched", path));
    }
    std::int64_t id = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        id = id << 8 | static_cast<unsigned char>(head[id_at + i]);
    }
    if (id != application_id && size > small) return std::unexpected(anothers(path));
    return {};
}

// Reads only. A file that has our tables has our id: both are made in one transaction.
// Requires: a transaction.
result<whose> check(sqlite3* db, const std::string& path) {
    const auto objects = ask_number(db, "SELECT count(*) FROM sqlite_schema", path);
    if (!objects) return std::unexpected(objects.error());
    const auto id = ask_number(db, "PRAGMA application_id", path);
    if (!id) return std::unexpected(id.error());
    const auto version = ask_number(db, "PRAGMA user_version", path);
    if (!version) return std::unexpected(version.error());
    if (*id == 0 && *version == 0 && *objects == 0) return whose::nobodys;
    if (*id != application_id) return std::unexpected(anothers(path));
    if (*version != sql::schema_version) {
        return fail(errc::unsupported,
                    fmt::format("sqlite:{}: it was made by another version of Holdfast (its tables "
                                "are of version {}, these programs' of {})",
                                path, *version, sql::schema_version));
    }
    return whose::ours;
}

// The same in a transaction of its own: another process may be making the tables just now, and what
// is read before and after that does not fit together.
result<whose> check_at_once(sqlite3* db, const std::string& path) {
    if (auto begun = carry_out(db, "BEGIN", path); !begun) {
        return std::unexpected(std::move(begun.error()));
    }
    auto found = check(db, path);
    static_cast<void>(carry_out(db, "ROLLBACK", path));  // it has only read
    return found;
}

// Two that open a new file at once: SQLite does not wait for the other while it changes the mode.
result<void> write_ahead(sqlite3* db, const std::string& path, const hooks& use) {
    for (int count = 0;; ++count) {
        sqlite3_stmt* statement = nullptr;
        int code = ::sqlite3_prepare_v2(db, "PRAGMA journal_mode = WAL", -1, &statement, nullptr);
        std::string mode;
        if (code == SQLITE_OK) {
            code = ::sqlite3_step(statement);
            if (code == SQLITE_ROW) {
                const auto* text = ::sqlite3_column_text(statement, 0);
                if (text != nullptr) mode = reinterpret_cast<const char*>(text);
            }
        }
        ::sqlite3_finalize(statement);
        if (code == SQLITE_ROW && mode == "wal") return {};
        if (code == SQLITE_ROW) {
            return fail(errc::unsupported,
                        fmt::format("sqlite:{}: this file system cannot hold a database that "
                                    "several processes share: use a local one",
                                    path));
        }
        if ((code & 0xFF) != SQLITE_BUSY || use.wait(use.self, count) == 0) {
            return std::unexpected(trouble(db, code, path, deed::opening));
        }
    }
}

result<void> make_tables(sqlite3* db, const std::string& path) {
    if (auto begun = carry_out(db, "BEGIN IMMEDIATE", path); !begun) return begun;
    const auto made = [&]() -> result<void> {
        const auto still = check(db, path);  // another process may have been quicker
        if (!still) return std::unexpected(still.error());
        if (*still == whose::ours) return {};
        std::vector<std::string> steps = sql::schema(sqlite_dialect());
        steps.push_back(clock_schema());
        steps.push_back(fmt::format("PRAGMA application_id = {}", application_id));
        steps.push_back(fmt::format("PRAGMA user_version = {}", sql::schema_version));
        for (const std::string& step : steps) {
            if (auto done = carry_out(db, step, path); !done) return done;
        }
        return {};
    }();
    if (!made) {
        static_cast<void>(carry_out(db, "ROLLBACK", path));
        return made;
    }
    return carry_out(db, "COMMIT", path);
}

result<void> settle(sqlite3* db, const sqlite_options& options, const hooks& use) {
    const std::string& path = options.path;
    const auto found = check_at_once(db, path);
    if (!found) return std::unexpected(found.error());
    if (auto done = write_ahead(db, path, use); !done) return done;
    const char* const sync = options.full_sync ? "FULL" : "NORMAL";
    if (auto done = carry_out(db, fmt::format("PRAGMA synchronous = {}", sync), path); !done) {
        return done;
    }
    if (options.most_pages > 0) {
        const auto limit = fmt::format("PRAGMA max_page_count = {}", options.most_pages);
        if (auto done = ask_number(db, limit, path); !done) return std::unexpected(done.error());
    }
    // A log that grew in a burst is cut back when it is written anew.
    const auto bound = ask_number(db, "PRAGMA journal_size_limit = 8388608", path);
    if (!bound) return std::unexpected(bound.error());
    return *found == whose::ours ? result<void>() : make_tables(db, path);
}

void furnish(sqlite3* db, const hooks& use) {
    ::sqlite3_extended_result_codes(db, 1);
    ::sqlite3_busy_handler(db, use.wait, use.self);
    ::sqlite3_create_function_v2(db, "holdfast_now", 0, SQLITE_UTF8, new hooks(use), tell_now,
                                 nullptr, nullptr, forget_hooks);
    ::sqlite3_create_function_v2(db, "holdfast_tell", 1, SQLITE_UTF8, new hooks(use), tell_number,
                                 nullptr, nullptr, forget_hooks);
}

result<handle> open_plainly(const std::string& path, int how, const hooks& use) {
    sqlite3* raw = nullptr;
    const int code = ::sqlite3_open_v2(path.c_str(), &raw, how | SQLITE_OPEN_NOMUTEX, nullptr);
    handle db(raw);
    if (code != SQLITE_OK) return std::unexpected(trouble(raw, code, path, deed::opening));
    furnish(raw, use);
    return db;
}

result<handle> open_to_write(const sqlite_options& options, const hooks& use) {
    const int create = options.create ? SQLITE_OPEN_CREATE : 0;
    auto db = open_plainly(options.path, SQLITE_OPEN_READWRITE | create, use);
    if (!db) return db;
    if (::sqlite3_db_readonly(db->get(), "main") == 1) {
        return std::unexpected(trouble(db->get(), SQLITE_READONLY, options.path, deed::opening));
    }
    if (auto done = settle(db->get(), options, use); !done) return std::unexpected(done.error());
    return db;
}

// SQLite keeps its files beside the real one, wherever a symbolic link to that is.
std::string beside(const std::string& path, std::string_view end) {
    std::error_code none;
    const auto real = std::filesystem::canonical(path, none);
    std::string file = none ? path : real.string();
    return file.append(end);
}

bool has_log(const std::string& path) {
    std::error_code none;
    const auto size = std::filesystem::file_size(beside(path, "-wal"), none);
    return !none && size > 0;
}

bool same_state(const struct stat& one, const struct stat& other) {
    return one.st_ino == other.st_ino && one.st_size == other.st_size &&
           one.st_mtim.tv_sec == other.st_mtim.tv_sec &&
           one.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
}

/// Bytes that SQLite can take over.
struct releaser {
    void operator()(unsigned char* bytes) const noexcept { ::sqlite3_free(bytes); }
};
struct copied {
    std::unique_ptr<unsigned char, releaser> bytes;
    sqlite3_int64 size = 0;
};

// A file of ours that has no log. Whoever changes it makes a log first: if there was none before
// and after, and the file is the same, nobody did. By SQLite's own way to read it: if we opened and
// closed it ourselves, other connections of this process would lose their locks.
result<copied> copy_of(const std::string& path, const hooks& use) {
    constexpr int header = 100;
    constexpr std::int64_t most = std::int64_t{1} << 30;
    constexpr std::size_t format_versions = 18;  // of the header: two bytes, 2 for a log
    const auto db = open_plainly(path, SQLITE_OPEN_READONLY, use);
    if (!db) return std::unexpected(db.error());
    sqlite3_file* file = nullptr;
    ::sqlite3_file_control(db->get(), "main", SQLITE_FCNTL_FILE_POINTER, static_cast<void*>(&file));
    struct stat before{};
    struct stat after{};
    if (::stat(path.c_str(), &before) != 0) return std::unexpected(cannot_open(errno, path));
    copied made;
    if (before.st_size == 0) return made;
    std::array<char, header> head{};
    int code = file->pMethods->xRead(file, head.data(), header, 0);
    if (auto fit = check_header({head.data(), head.size()}, path, before.st_size); !fit) {
        return std::unexpected(std::move(fit.error()));
    }
    if (before.st_size > most) {
        return fail(
            errc::unsupported,
            fmt::format("sqlite:{}: it is too large to be read without write permission", path));
    }
    made.size = before.st_size;
    const auto room = static_cast<sqlite3_uint64>(made.size);
    made.bytes.reset(static_cast<unsigned char*>(::sqlite3_malloc64(room)));
    if (made.bytes == nullptr) return fail(errc::unavailable, "out of memory");
    if (code == SQLITE_OK) {
        code = file->pMethods->xRead(file, made.bytes.get(), static_cast<int>(made.size), 0);
    }
    const bool whole = code == SQLITE_OK && !has_log(path) && ::stat(path.c_str(), &after) == 0;
    if (!whole || !same_state(before, after)) {
        return fail(
            errc::unavailable,
            fmt::format("sqlite:{}: it changes too quickly to be read without write permission",
                        path));
    }
    // A copy in memory has no log.
    made.bytes.get()[format_versions] = made.bytes.get()[format_versions + 1] = 1;
    return made;
}

// Null if the file is empty.
result<handle> open_copy(const std::string& path, const hooks& use) {
    auto copy = copy_of(path, use);
    if (!copy) return std::unexpected(std::move(copy.error()));
    if (copy->size == 0) return handle();
    auto db = open_plainly(":memory:", SQLITE_OPEN_READWRITE, use);
    if (!db) return db;
    const int code =
        ::sqlite3_deserialize(db->get(), "main", copy->bytes.release(), copy->size, copy->size,
                              SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
    if (code != SQLITE_OK) {
        return std::unexpected(trouble(db->get(), code, path, deed::opening));
    }
    return db;
}

// Null if there is nothing yet.
//
// SQLite reads a file with a log if it finds the log and the shared memory beside it. Without a log
// it would have to make both; those would be ours, in the way of whoever may write. So then, we
// read a copy.
result<handle> look_at(const std::string& path, const hooks& use) {
    const bool logged = has_log(path);
    std::error_code none;
    if (logged && !std::filesystem::exists(beside(path, "-shm"), none)) {
        return fail(errc::unavailable,
                    fmt::format("sqlite:{}: it was not closed properly: one who may write it must "
                                "use it before others can read it",
                                path));
    }
    auto db = logged ? open_plainly(path, SQLITE_OPEN_READONLY, use) : open_copy(path, use);
    if (!db || *db == nullptr) return db;
    const auto found = check_at_once(db->get(), path);
    if (!found) return std::unexpected(found.error());
    return *found == whose::ours ? std::move(db) : handle();
}

// What can be read by a user who may not write. The first who writes makes the files beside it, and
// the last one takes them away: a look that comes just then is repeated.
result<handle> open_to_read(const std::string& path, const hooks& use) {
    constexpr int tries = 50;  // together, some hundred milliseconds
    for (int count = 0;; ++count) {
        auto seen = look_at(path, use);
        const bool may_pass = !seen && ::access(path.c_str(), R_OK) == 0 &&
                              (seen.error() == errc::unavailable || seen.error() == errc::denied);
        if (!may_pass || count == tries || use.wait(use.self, count) == 0) return seen;
    }
}

bool is_missing(const std::string& path) {
    struct stat about{};
    return ::stat(path.c_str(), &about) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

// What one sees who looks at a file that is not there, and shall not make it.
result<database> nothing_yet(const std::string& path, const hooks& use) {
    auto db = open_plainly(":memory:", SQLITE_OPEN_READWRITE, use);
    if (!db) return std::unexpected(std::move(db.error()));
    if (auto made = make_tables(db->get(), path); !made) {
        return std::unexpected(std::move(made.error()));
    }
    return database{std::move(*db),
                    error{errc::denied, fmt::format("sqlite:{}: the file is not there, and shall "
                                                    "not be made",
                                                    path)}};
}

}  // namespace

void closer::operator()(sqlite3* db) const noexcept {
    ::sqlite3_close_v2(db);
}

result<void> carry_out(sqlite3* db, const std::string& text, const std::string& path) {
    const int code = ::sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(trouble(db, code, path, deed::opening));
    return {};
}

result<std::int64_t> ask_number(sqlite3* db, const std::string& text, const std::string& path) {
    sqlite3_stmt* statement = nullptr;
    int code = ::sqlite3_prepare_v2(db, text.c_str(), -1, &statement, nullptr);
    std::int64_t number = 0;
    if (code == SQLITE_OK) {
        code = ::sqlite3_step(statement);
        if (code == SQLITE_ROW) number = ::sqlite3_column_int64(statement, 0);
    }
    result<std::int64_t> answer = number;
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        answer = std::unexpected(trouble(db, code, path, deed::opening));
    ::sqlite3_finalize(statement);
    return answer;
}

result<database> open_database(const sqlite_options& options, const hooks& use) {
    const std::string& path = options.path;
    if (!options.create && is_missing(path)) return nothing_yet(path, use);
    if (auto fit = check_kind(path); !fit) return std::unexpected(std::move(fit.error()));
    if (on_network(path)) {
        return fail(errc::unsupported,
                    fmt::format("sqlite:{}: this is on a network file system, which cannot keep "
                                "processes apart: use a local one",
                                path));
    }
    auto whole = open_to_write(options, use);
    if (whole) return database{std::move(*whole), std::nullopt};
    error& why = whole.error();
    if (why != errc::denied && why != errc::unavailable) return std::unexpected(std::move(why));
    auto seen = open_to_read(path, use);
    // Of two troubles, the one that must be mended first.
    if (!seen && (why == errc::denied || seen.error() != errc::unavailable)) {
        return std::unexpected(std::move(seen.error()));
    }
    if (!seen || *seen == nullptr) return std::unexpected(std::move(why));
    return database{std::move(*seen), std::move(why)};
}

}  // namespace holdfast::sqlite

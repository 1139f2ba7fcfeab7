// SPDX-License-Identifier: Apache-2.0
#include "engine/sqlite/sqlite_open.hpp"

#include "engine/sql/sql_statements.hpp"
#include "engine/sqlite/sqlite_connection.hpp"
#include "engine/sqlite/sqlite_trouble.hpp"

#include <fmt/format.h>

#include <sqlite3.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <string_view>
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

// Reads only. A file that has our tables has our id: both are made in one transaction.
result<whose> check(sqlite3* db, const std::string& path) {
    const auto objects = ask_number(db, "SELECT count(*) FROM sqlite_schema", path);
    if (!objects) return std::unexpected(objects.error());
    const auto id = ask_number(db, "PRAGMA application_id", path);
    if (!id) return std::unexpected(id.error());
    const auto version = ask_number(db, "PRAGMA user_version", path);
    if (!version) return std::unexpected(version.error());
    if (*id == 0 && *version == 0 && *objects == 0) return whose::nobodys;
    if (*id != application_id) {
        return fail(
            errc::corrupt,
            fmt::format("sqlite:{}: this is another program's database; it was not touched", path));
    }
    if (*version != sql::schema_version) {
        return fail(errc::unsupported,
                    fmt::format("sqlite:{}: it was made by another version of Holdfast (its tables "
                                "are of version {}, these programs' of {})",
                                path, *version, sql::schema_version));
    }
    return whose::ours;
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
            return std::unexpected(trouble(db, code, path));
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
        steps.push_back(
            "CREATE TABLE holdfast_clock (boot TEXT NOT NULL PRIMARY KEY, "
            "ahead BIGINT NOT NULL, seen BIGINT NOT NULL) WITHOUT ROWID");
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
    const auto found = check(db, path);
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

}  // namespace

void closer::operator()(sqlite3* db) const noexcept {
    ::sqlite3_close_v2(db);
}

result<void> carry_out(sqlite3* db, const std::string& text, const std::string& path) {
    const int code = ::sqlite3_exec(db, text.c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) return std::unexpected(trouble(db, code, path));
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
        answer = std::unexpected(trouble(db, code, path));
    ::sqlite3_finalize(statement);
    return answer;
}

result<handle> open_database(const sqlite_options& options, const hooks& use) {
    const std::string& path = options.path;
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored)) {
        return std::unexpected(cannot_open(EISDIR, path));
    }
    if (on_network(path)) {
        return fail(errc::unsupported,
                    fmt::format("sqlite:{}: this is on a network file system, which cannot keep "
                                "processes apart: use a local one",
                                path));
    }
    sqlite3* raw = nullptr;
    const int code = ::sqlite3_open_v2(
        path.c_str(), &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
        nullptr);
    handle db(raw);
    if (code != SQLITE_OK) return std::unexpected(trouble(raw, code, path));
    ::sqlite3_extended_result_codes(raw, 1);
    if (::sqlite3_db_readonly(raw, "main") == 1) {
        return std::unexpected(trouble(raw, SQLITE_READONLY, path));
    }
    ::sqlite3_busy_handler(raw, use.wait, use.self);
    ::sqlite3_create_function_v2(raw, "holdfast_now", 0, SQLITE_UTF8, new hooks(use), tell_now,
                                 nullptr, nullptr, forget_hooks);
    ::sqlite3_create_function_v2(raw, "holdfast_tell", 1, SQLITE_UTF8, new hooks(use), tell_number,
                                 nullptr, nullptr, forget_hooks);
    if (auto done = settle(raw, options, use); !done) return std::unexpected(done.error());
    return db;
}

}  // namespace holdfast::sqlite

// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/sqlite_pairs.hpp"

#include "commands/bench/pair_threads.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>

namespace holdfast::bench {
namespace {

constexpr const char* table =
    "CREATE TABLE IF NOT EXISTS locks (name TEXT NOT NULL PRIMARY KEY, owner TEXT NOT NULL, "
    "expires INTEGER NOT NULL) WITHOUT ROWID";

// ?1 name  ?2 owner  ?3 when it expires  ?4 now
constexpr const char* take_row =
    "INSERT INTO locks (name, owner, expires) VALUES (?1, ?2, ?3) ON CONFLICT (name) DO UPDATE "
    "SET owner = excluded.owner, expires = excluded.expires WHERE locks.expires <= ?4";

constexpr const char* give_back = "DELETE FROM locks WHERE name = ?1 AND owner = ?2";

constexpr const char* counters =
    "CREATE TABLE IF NOT EXISTS counts (key TEXT NOT NULL PRIMARY KEY, count INTEGER NOT NULL, "
    "ends INTEGER NOT NULL) WITHOUT ROWID";

// ?1 key  ?2 when a window that begins now ends  ?3 now
constexpr const char* count_up =
    "INSERT INTO counts (key, count, ends) VALUES (?1, 1, ?2) ON CONFLICT (key) DO UPDATE SET "
    "count = CASE WHEN ends <= ?3 THEN 1 ELSE count + 1 END, "
    "ends = CASE WHEN ends <= ?3 THEN ?2 ELSE ends END";

struct closes {
    void operator()(sqlite3* db) const noexcept { ::sqlite3_close_v2(db); }
    void operator()(sqlite3_stmt* one) const noexcept { ::sqlite3_finalize(one); }
};
using handle = std::unique_ptr<sqlite3, closes>;
using statement = std::unique_ptr<sqlite3_stmt, closes>;

statement prepared(sqlite3* db, const char* text) {
    sqlite3_stmt* made = nullptr;
    ::sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &made, nullptr);
    return statement(made);
}

void bind(sqlite3_stmt* to, int at, const std::string& text) {
    ::sqlite3_bind_text(to, at, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

// Answers whether it changed the one row.
bool run(sqlite3* db, sqlite3_stmt* one) {
    const int code = ::sqlite3_step(one);
    ::sqlite3_reset(one);
    return code == SQLITE_DONE && ::sqlite3_changes(db) == 1;
}

handle opened(const std::string& path, const std::string& synchronous) {
    sqlite3* raw = nullptr;
    ::sqlite3_open_v2(path.c_str(), &raw,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
    handle db(raw);
    ::sqlite3_busy_timeout(raw, 5000);
    ::sqlite3_exec(raw, "PRAGMA journal_mode = WAL", nullptr, nullptr, nullptr);
    const std::string sync = fmt::format("PRAGMA synchronous = {}", synchronous);
    ::sqlite3_exec(raw, sync.c_str(), nullptr, nullptr, nullptr);
    ::sqlite3_exec(raw, table, nullptr, nullptr, nullptr);
    ::sqlite3_exec(raw, counters, nullptr, nullptr, nullptr);
    return db;
}

void pairs(const std::string& path, const std::string& synchronous, int id, worker_log& log,
           turns& mine) {
    const handle db = opened(path, synchronous);
    const statement taking = prepared(db.get(), take_row);
    const statement giving = prepared(db.get(), give_back);
    const std::string name = fmt::format("bench/{}", id);
    const std::string owner = fmt::format("{:032x}", id + 1);
    for (sqlite3_stmt* one : {taking.get(), giving.get()}) {
        bind(one, 1, name);
        bind(one, 2, owner);
    }
    constexpr std::int64_t ttl = 30'000'000;
    while (const auto start = mine.next()) {
        const std::int64_t now = system_clock().wall().time_since_epoch().count();
        ::sqlite3_bind_int64(taking.get(), 3, now + ttl);
        ::sqlite3_bind_int64(taking.get(), 4, now);
        if (!run(db.get(), taking.get())) return log.failed(::sqlite3_errmsg(db.get()));
        const time_point got = system_clock().now();
        if (!run(db.get(), giving.get())) return log.failed(::sqlite3_errmsg(db.get()));
        log.time(got - *start, system_clock().now() - got);
    }
}

void counts(const std::string& path, const std::string& synchronous, int keys, int id,
            worker_log& log, turns& mine) {
    const handle db = opened(path, synchronous);
    const statement counting = prepared(db.get(), count_up);
    constexpr std::int64_t window = 60'000'000;
    for (std::uint64_t i = 0; const auto start = mine.next(); ++i) {
        const auto at =
            (static_cast<std::uint64_t>(id) * 7919 + i * 31) % static_cast<std::uint64_t>(keys);
        const std::string key = fmt::format("{:012}", at);
        const std::int64_t now = system_clock().wall().time_since_epoch().count();
        bind(counting.get(), 1, key);
        ::sqlite3_bind_int64(counting.get(), 2, now + window);
        ::sqlite3_bind_int64(counting.get(), 3, now);
        if (!run(db.get(), counting.get())) return log.failed(::sqlite3_errmsg(db.get()));
        log.time(system_clock().now() - *start, duration::zero());
    }
}

}  // namespace

pairs_result counts_by_sqlite(const std::string& path, const sqlite_pairs_options& options,
                              int keys) {
    return on_threads("sqlite by hand", options.pairs, [&](int id, worker_log& log, turns& mine) {
        counts(path, options.synchronous, keys, id, log, mine);
    });
}

pairs_result pairs_by_sqlite(const std::string& path, const sqlite_pairs_options& options) {
    return on_threads("sqlite by hand", options.pairs, [&](int id, worker_log& log, turns& mine) {
        pairs(path, options.synchronous, id, log, mine);
    });
}

}  // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/mysql_pairs.hpp"

#include "commands/bench/pair_threads.hpp"
#include "driver/mysql/mysql_link.hpp"
#include "open/mysql_url.hpp"

#include <fmt/format.h>

#include <mysql.h>

#include <array>
#include <string_view>

namespace holdfast::bench {
namespace {

constexpr duration mysql_within = std::chrono::seconds(10);

constexpr const char* make_mysql_table =
    "CREATE TABLE IF NOT EXISTS holdfast_bench (name VARBINARY(512) NOT NULL PRIMARY KEY, "
    "owner VARBINARY(64) NOT NULL, expires DATETIME(6) NOT NULL) ENGINE = InnoDB; "
    "DELETE FROM holdfast_bench";

// Name, owner.
constexpr const char* take_in_mysql =
    "INSERT INTO holdfast_bench (name, owner, expires) "
    "VALUES (?, ?, NOW(6) + INTERVAL 30 SECOND) ON DUPLICATE KEY UPDATE "
    "owner = IF(expires <= NOW(6), VALUES(owner), owner), "
    "expires = IF(owner = VALUES(owner), VALUES(expires), expires)";

constexpr const char* give_back_in_mysql =
    "DELETE FROM holdfast_bench WHERE name = ? AND owner = ?";

// The lock's name. DO answers no row, which a program that waits for it need not read.
constexpr const char* lock_in_mysql = "DO GET_LOCK(?, 60)";
constexpr const char* unlock_in_mysql = "DO RELEASE_LOCK(?)";

MYSQL_BIND bound(const std::string& text) {
    MYSQL_BIND one{};
    one.buffer_type = MYSQL_TYPE_BLOB;
    one.buffer = const_cast<char*>(text.data());
    one.buffer_length = text.size();
    return one;
}

// By the blocking call. Answers whether it changed the one row.
bool run_in_mysql(MYSQL_STMT* what) {
    return ::mysql_stmt_execute(what) == 0 && ::mysql_stmt_affected_rows(what) == 1;
}

void pairs_in_mysql(const mysql::mysql_options& options, int id, worker_log& log, turns& mine) {
    mysql::mysql_link link(options);
    const time_point deadline = system_clock().now() + mysql_within;
    if (auto opened = link.open(deadline); !opened) return log.failed(opened.error().detail);
    auto take = link.prepare(take_in_mysql, deadline);
    if (!take) return log.failed(take.error().words);
    auto give = link.prepare(give_back_in_mysql, deadline);
    if (!give) return log.failed(give.error().words);
    const std::string name = fmt::format("bench/{}", id);
    const std::string owner = fmt::format("{:032x}", id + 1);
    std::array<MYSQL_BIND, 2> values{bound(name), bound(owner)};
    ::mysql_stmt_bind_param(take->get(), values.data());
    ::mysql_stmt_bind_param(give->get(), values.data());
    while (const auto start = mine.next()) {
        if (!run_in_mysql(take->get())) return log.failed(::mysql_stmt_error(take->get()));
        const time_point got = system_clock().now();
        if (!run_in_mysql(give->get())) return log.failed(::mysql_stmt_error(give->get()));
        log.time(got - *start, system_clock().now() - got);
    }
}

// As above with locks of the session, which can be waited for.
void session_pairs_in_mysql(mysql::mysql_options options, std::string lock, worker_log& log,
                            turns& mine) {
    options.statement_timeout = std::chrono::minutes(1);
    mysql::mysql_link link(options);
    const time_point deadline = system_clock().now() + mysql_within;
    if (auto opened = link.open(deadline); !opened) return log.failed(opened.error().detail);
    auto take = link.prepare(lock_in_mysql, deadline);
    if (!take) return log.failed(take.error().words);
    auto give = link.prepare(unlock_in_mysql, deadline);
    if (!give) return log.failed(give.error().words);
    MYSQL_BIND value = bound(lock);
    ::mysql_stmt_bind_param(take->get(), &value);
    ::mysql_stmt_bind_param(give->get(), &value);
    while (const auto start = mine.next()) {
        if (::mysql_stmt_execute(take->get()) != 0) {
            return log.failed(::mysql_stmt_error(take->get()));
        }
        const time_point got = system_clock().now();
        if (::mysql_stmt_execute(give->get()) != 0) {
            return log.failed(::mysql_stmt_error(give->get()));
        }
        log.time(got - *start, system_clock().now() - got);
    }
}

}  // namespace

result<pairs_result> pairs_by_mysql(const std::string& url, const pairs_options& options) {
    const auto where = parse_url(url);
    if (!where) return std::unexpected(where.error());
    const auto read = detail::read_mysql_url(*where);
    if (!read) return std::unexpected(read.error());
    if (read->session_locks) {
        return on_threads("GET_LOCK by hand", options, [&](int id, worker_log& log, turns& mine) {
            session_pairs_in_mysql(
                *read, fmt::format("holdfast_bench_{}", options.contended ? 0 : id), log, mine);
        });
    }
    mysql::mysql_link link(*read);
    const time_point deadline = system_clock().now() + mysql_within;
    if (auto opened = link.open(deadline); !opened) return std::unexpected(opened.error());
    const auto made = link.ask(make_mysql_table, [](const mysql::statement_result&) {}, deadline);
    if (!made) return std::unexpected(mysql::cannot_create(made.error(), link.label()));
    return on_threads("mysql by hand", options, [&](int id, worker_log& log, turns& mine) {
        pairs_in_mysql(*read, id, log, mine);
    });
}

}  // namespace holdfast::bench

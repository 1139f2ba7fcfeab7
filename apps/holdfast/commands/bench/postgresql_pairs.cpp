// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/postgresql_pairs.hpp"

#include "commands/bench/pair_threads.hpp"
#include "driver/postgresql/postgresql_link.hpp"
#include "open/postgresql_url.hpp"

#include <fmt/format.h>

#include <libpq-fe.h>

#include <array>
#include <memory>

namespace holdfast::bench {
namespace {

constexpr duration connect_within = std::chrono::seconds(10);

constexpr const char* make_hand_table =
    "CREATE TABLE IF NOT EXISTS holdfast_bench (name TEXT NOT NULL PRIMARY KEY, owner TEXT NOT "
    "NULL, expires TIMESTAMPTZ NOT NULL); TRUNCATE holdfast_bench";

// $1 name  $2 owner
constexpr const char* take_by_hand =
    "INSERT INTO holdfast_bench (name, owner, expires) VALUES ($1, $2, now() + interval '30 s') "
    "ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires "
    "WHERE holdfast_bench.expires <= now()";

constexpr const char* give_back_by_hand =
    "DELETE FROM holdfast_bench WHERE name = $1 AND owner = $2";

// $1 the lock's number
constexpr const char* lock_by_hand = "SELECT pg_advisory_lock($1)";
constexpr const char* unlock_by_hand = "SELECT pg_advisory_unlock($1)";
constexpr std::int64_t first_lock = 0x686f6c6400000000;

struct clears {
    void operator()(PGresult* one) const noexcept { ::PQclear(one); }
};

bool prepare(PGconn* db, const char* name, const char* text) {
    const std::unique_ptr<PGresult, clears> done(::PQprepare(db, name, text, 0, nullptr));
    return ::PQresultStatus(done.get()) == PGRES_COMMAND_OK;
}

// Answers whether it changed the one row.
bool run(PGconn* db, const char* name, const std::array<const char*, 2>& values) {
    const std::unique_ptr<PGresult, clears> done(
        ::PQexecPrepared(db, name, 2, values.data(), nullptr, nullptr, 0));
    return ::PQresultStatus(done.get()) == PGRES_COMMAND_OK &&
           std::string_view(::PQcmdTuples(done.get())) == "1";
}

void pairs_by_hand(const postgresql::postgresql_options& options, int id, worker_log& log,
                   turns& mine) {
    postgresql::postgresql_link link(options);
    if (auto opened = link.open(system_clock().now() + connect_within); !opened) {
        return log.failed(opened.error().detail);
    }
    PGconn* const db = link.get();
    ::PQsetnonblocking(db, 0);
    if (!prepare(db, "take", take_by_hand) || !prepare(db, "give", give_back_by_hand)) {
        return log.failed(::PQerrorMessage(db));
    }
    const std::string name = fmt::format("bench/{}", id);
    const std::string owner = fmt::format("{:032x}", id + 1);
    const std::array<const char*, 2> values{name.c_str(), owner.c_str()};
    while (const auto start = mine.next()) {
        if (!run(db, "take", values)) return log.failed(::PQerrorMessage(db));
        const time_point got = system_clock().now();
        if (!run(db, "give", values)) return log.failed(::PQerrorMessage(db));
        log.time(got - *start, system_clock().now() - got);
    }
}

bool ask_session(PGconn* db, const char* name, const char* value) {
    const std::unique_ptr<PGresult, clears> done(
        ::PQexecPrepared(db, name, 1, &value, nullptr, nullptr, 0));
    return ::PQresultStatus(done.get()) == PGRES_TUPLES_OK;
}

// As above with advisory locks, which can be waited for.
void session_pairs_by_hand(postgresql::postgresql_options options, std::int64_t lock,
                           worker_log& log, turns& mine) {
    options.statement_timeout = duration::zero();
    postgresql::postgresql_link link(options);
    if (auto opened = link.open(system_clock().now() + connect_within); !opened) {
        return log.failed(opened.error().detail);
    }
    PGconn* const db = link.get();
    ::PQsetnonblocking(db, 0);
    if (!prepare(db, "lock", lock_by_hand) || !prepare(db, "unlock", unlock_by_hand)) {
        return log.failed(::PQerrorMessage(db));
    }
    const std::string number = std::to_string(lock);
    while (const auto start = mine.next()) {
        if (!ask_session(db, "lock", number.c_str())) return log.failed(::PQerrorMessage(db));
        const time_point got = system_clock().now();
        if (!ask_session(db, "unlock", number.c_str())) return log.failed(::PQerrorMessage(db));
        log.time(got - *start, system_clock().now() - got);
    }
}

}  // namespace

result<pairs_result> pairs_by_postgresql(const std::string& url, const pairs_options& options) {
    const auto where = parse_url(url);
    if (!where) return std::unexpected(where.error());
    const auto read = detail::read_postgresql_url(*where);
    if (!read) return std::unexpected(read.error());
    if (read->session_locks) {
        return on_threads(
            "advisory locks by hand", options, [&](int id, worker_log& log, turns& mine) {
                session_pairs_by_hand(*read, first_lock + (options.contended ? 0 : id), log, mine);
            });
    }
    postgresql::postgresql_link link(*read);
    const time_point deadline = system_clock().now() + connect_within;
    if (auto opened = link.open(deadline); !opened) return std::unexpected(opened.error());
    if (const auto made = link.ask(make_hand_table, deadline); !made) {
        return std::unexpected(postgresql::cannot_create(made.error(), link.label()));
    }
    return on_threads("postgresql by hand", options, [&](int id, worker_log& log, turns& mine) {
        pairs_by_hand(*read, id, log, mine);
    });
}

}  // namespace holdfast::bench

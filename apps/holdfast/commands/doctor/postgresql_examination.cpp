// SPDX-License-Identifier: Apache-2.0
//
// Asks a PostgreSQL server what its settings mean for leases.
#include "commands/doctor/examinations.hpp"
#include "commands/doctor/sql_findings.hpp"
#include "driver/postgresql/postgresql_link.hpp"
#include "open/postgresql_url.hpp"

#include <fmt/format.h>

#include <libpq-fe.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::app {
namespace {

using level = finding::level;

constexpr duration postgresql_patience = std::chrono::seconds(5);

// The columns, in this order, of the one row. What a connection of ours sets for itself is asked as
// it would be without.
constexpr const char* question = R"(
SELECT pg_is_in_recovery(), current_setting('transaction_read_only'), current_setting('fsync'),
    current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
    (SELECT count(*) FROM pg_stat_replication), current_setting('server_encoding'),
    current_setting('max_connections'),
    coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false),
    (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
    current_setting('server_version'),
    (SELECT reset_val FROM pg_settings WHERE name = 'default_transaction_isolation'),
    current_setting('TimeZone'), current_setting('tcp_keepalives_idle'),
    (date_part('epoch', clock_timestamp()) * 1000000)::bigint,
    (SELECT string_agg(missing, ', ') FROM (
        SELECT string_agg(right_to, ', ') || ' of ' || name AS missing
        FROM unnest(ARRAY['holdfast_names', 'holdfast_parties', 'holdfast_clients',
                          'holdfast_notes', 'holdfast_meta']) name,
             unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) right_to
        WHERE to_regclass(name) IS NOT NULL AND NOT (name = 'holdfast_meta' AND
                right_to IN ('INSERT', 'DELETE'))
            AND NOT has_table_privilege(to_regclass(name)::oid, right_to)
        GROUP BY name ORDER BY name) each_table))";

enum column : std::uint8_t {
    recovers,
    read_only,
    fsync,
    synchronous_commit,
    standby_names,
    replicas,
    encoding,
    max_connections,
    tls,
    superuser,
    version,
    isolation,
    time_zone,
    keepalives,
    moment,
    missing_rights
};

/// What the server answered.
class server_facts {
public:
    explicit server_facts(const PGresult* from) : from_(from) {}
    [[nodiscard]] std::string_view text(column which) const {
        return ::PQgetvalue(from_, 0, which);
    }
    [[nodiscard]] bool is_true(column which) const { return text(which) == "t"; }
    [[nodiscard]] std::int64_t large(column which) const {
        return std::atoll(::PQgetvalue(from_, 0, which));
    }
    [[nodiscard]] int number(column which) const {
        return std::atoi(::PQgetvalue(from_, 0, which));
    }

private:
    const PGresult* from_;
};

finding examine_role(const server_facts& facts, const std::string& where) {
    if (facts.is_true(recovers)) {
        return {level::unsafe, "role", where, "it is a replica, which can only be read",
                "name the primary in the URL"};
    }
    if (facts.text(read_only) == "on") {
        return {level::unsafe, "role", where, "default_transaction_read_only keeps us from writing",
                "end that setting for this database and user"};
    }
    return {level::good, "role", where, fmt::format("a primary, {}", facts.text(version)), ""};
}

finding examine_durability(const server_facts& facts, const std::string& where) {
    if (facts.text(fsync) == "off") {
        return {level::unsafe, "durability", where,
                "fsync is off: a crash of its machine may forget what is held, or damage it all",
                "set fsync = on"};
    }
    if (facts.text(synchronous_commit) == "off") {
        return {level::unsafe, "durability", where,
                "synchronous_commit is off: a crash forgets the grants of the last moments, and "
                "grants them again",
                "set synchronous_commit = on for this database or user"};
    }
    return {level::good, "durability", where, "a grant is on the disk before it is told", ""};
}

finding examine_failover(const server_facts& facts, const std::string& where) {
    if (facts.number(replicas) == 0) {
        return {level::good, "failover", where, "it has no replica that could take its place", ""};
    }
    if (facts.text(standby_names).empty()) {
        return {level::unsafe, "failover", where,
                "its replicas follow it without being waited for: one that takes its place may "
                "have missed the last grants, and grants them again",
                "set synchronous_standby_names, or rely on fences alone"};
    }
    return {level::good, "failover", where, "a grant waits for a replica", ""};
}

findings examine_access(const server_facts& facts, const std::string& where, bool remote) {
    findings found;
    if (remote && !facts.is_true(tls)) {
        found.push_back({level::unsafe, "encryption", where,
                         "the connection is not encrypted: who reads along can end any lease",
                         "write sslmode=verify-full in the URL"});
    }
    if (facts.is_true(superuser)) {
        found.push_back({level::note, "permissions", where,
                         "the user is a superuser, who may do far more than leases need",
                         "use a user who may SELECT, INSERT, UPDATE and DELETE the tables alone"});
    }
    if (facts.text(encoding) != "UTF8") {
        found.push_back({level::note, "encoding", where,
                         fmt::format("the database's encoding is {}: names with other characters "
                                     "are refused",
                                     facts.text(encoding)),
                         "use a database with the encoding UTF8"});
    }
    return found;
}

// A session that holds a lock may be gone without the server having heard of it.
std::optional<finding> examine_sessions(const server_facts& facts, const std::string& where) {
    constexpr int soon = 60;
    const int seconds = facts.number(keepalives);  // 0: a unix socket
    if (seconds <= soon) return std::nullopt;
    return finding{level::note, "sessions", where,
                   fmt::format("if the network fails, the server looks after {} s whether a client "
                               "is still there, and keeps its locks until then",
                               seconds),
                   "set tcp_keepalives_idle = 10, tcp_keepalives_interval = 5 and "
                   "tcp_keepalives_count = 3"};
}

std::optional<finding> examine_rights(const server_facts& facts, const std::string& where) {
    if (facts.text(missing_rights).empty()) return std::nullopt;
    return finding{level::unsafe, "permissions", where,
                   fmt::format("the user lacks {}", facts.text(missing_rights)),
                   "GRANT SELECT, INSERT, UPDATE, DELETE on the tables to this user"};
}

bool is_remote(const postgresql::postgresql_options& options) {
    for (const auto& at : options.servers) {
        const bool near = at.host.starts_with('/') || at.host.starts_with("127.") ||
                          at.host == "localhost" || at.host == "::1";
        if (!near) return true;
    }
    return false;
}

}  // namespace

findings examine_postgresql(const url& where) {
    const auto options = detail::read_postgresql_url(where);
    if (!options) return {};
    postgresql::postgresql_link link(*options);
    const time_point deadline = system_clock().now() + postgresql_patience;
    if (!link.open(deadline)) return {};  // the trial has said why
    const std::int64_t asked = time_of_day_us();
    const auto said = link.ask(question, deadline);
    if (!said || ::PQntuples(said->get()) != 1) return {};
    const server_facts facts(said->get());
    const std::string& label = link.label();
    findings found{
        examine_role(facts, label), examine_durability(facts, label),
        examine_failover(facts, label),
        examine_sql_connections(options->connections,
                                static_cast<std::size_t>(facts.number(max_connections)), label),
        examine_sql_clock(facts.large(moment), asked, label)};
    if (options->pooler_keeps_session) {
        found.push_back({level::note, "pooler", label,
                         "the URL says that a pooler keeps one server connection for a client, "
                         "which cannot be verified from here",
                         "see to it that its pool_mode is session"});
    }
    if (auto one = examine_rights(facts, label)) found.push_back(std::move(*one));
    if (options->session_locks) {
        if (auto one = examine_sessions(facts, label)) found.push_back(std::move(*one));
    }
    for (const findings& more :
         {examine_sql_habits(facts.text(isolation), facts.text(time_zone), label),
          examine_access(facts, label, is_remote(*options))}) {
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

}  // namespace holdfast::app

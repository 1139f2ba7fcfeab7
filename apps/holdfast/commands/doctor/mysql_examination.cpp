// SPDX-License-Identifier: Apache-2.0
//
// Asks a MariaDB or MySQL server what its settings mean for leases.
#include "commands/doctor/examinations.hpp"
#include "commands/doctor/sql_findings.hpp"
#include "driver/mysql/mysql_link.hpp"
#include "open/mysql_url.hpp"

#include <fmt/format.h>

#include <mysql.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast::app {
namespace {

using level = finding::level;

constexpr duration mysql_patience = std::chrono::seconds(5);

// The columns, in this order, of the one row; then the rights of the user, a row for each.
constexpr const char* mysql_question = R"(
SELECT @@global.read_only, @@innodb_flush_log_at_trx_commit, @@log_bin, @@sync_binlog,
    @@binlog_format, @@max_connections, @@wait_timeout, VERSION(),
    TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
    (SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'),
    COALESCE((SELECT SUPPORT FROM information_schema.ENGINES WHERE ENGINE = 'InnoDB'), 'NO');
SHOW STATUS LIKE 'Ssl_cipher';
SHOW STATUS LIKE 'wsrep_cluster_size';
SHOW STATUS LIKE 'Rpl_semi_sync_%_status';
SHOW GLOBAL VARIABLES LIKE 't%_isolation';
SHOW GLOBAL VARIABLES LIKE '%time_zone';
SHOW GRANTS)";

enum mysql_column : std::uint8_t {
    read_only_server,
    flush_log,
    has_binlog,
    sync_binlog,
    binlog_format,
    most_connections,
    wait_timeout,
    server_version,
    server_moment,
    followers,
    innodb,
    column_count
};

/// What the server answered.
struct mysql_facts {
    std::array<std::string, column_count> values{};
    std::string cipher{};
    int cluster = 0;
    bool all_rights = false;
    bool waits_for_replica = false;
    std::string isolation{};
    std::string time_zone{};

    [[nodiscard]] long number(mysql_column which) const {
        return std::strtol(values[which].c_str(), nullptr, 10);
    }
};

finding examine_mysql_role(const mysql_facts& facts, const std::string& where) {
    if (facts.values[innodb] != "YES" && facts.values[innodb] != "DEFAULT") {
        return {level::unsafe, "role", where, "it has no InnoDB, whose transactions leases need",
                "start the server with InnoDB"};
    }
    if (facts.number(read_only_server) != 0) {
        return {level::unsafe, "role", where, "read_only is on: it is a replica, or is kept as one",
                "name the primary in the URL"};
    }
    return {level::good, "role", where,
            fmt::format("can be written, {}", facts.values[server_version]), ""};
}

finding examine_mysql_durability(const mysql_facts& facts, const std::string& where) {
    if (facts.number(flush_log) != 1) {
        return {level::unsafe, "durability", where,
                "innodb_flush_log_at_trx_commit is not 1: a crash of its machine forgets the "
                "grants of the last second, and grants them again",
                "set innodb_flush_log_at_trx_commit = 1"};
    }
    if (facts.values[binlog_format] == "STATEMENT" && facts.number(has_binlog) != 0) {
        return {level::unsafe, "durability", where,
                "binlog_format is STATEMENT, with which no lease can be written",
                "set binlog_format = ROW"};
    }
    return {level::good, "durability", where, "a grant is on the disk before it is told", ""};
}

finding examine_mysql_failover(const mysql_facts& facts, const std::string& where) {
    if (facts.cluster > 1) {
        return {level::note, "failover", where,
                fmt::format("it is one of {} nodes of a Galera cluster: a conflict with another "
                            "node is found at the commit, and repeated",
                            facts.cluster),
                "let all clients name the same node first"};
    }
    if (facts.number(followers) == 0) {
        return {level::good, "failover", where,
                "no replica is seen to follow it (to see them takes the right PROCESS)", ""};
    }
    if (facts.waits_for_replica) {
        return {level::note, "failover", where,
                "a grant waits for a replica, until rpl_semi_sync_master_timeout has passed; after "
                "that it does not",
                "set a long rpl_semi_sync_master_timeout"};
    }
    return {level::unsafe, "failover", where,
            "replicas follow it: one that takes its place may have missed the last grants, and "
            "grants them again, unless replication is semi-synchronous",
            "set rpl_semi_sync_master_enabled and a long timeout, or rely on fences alone"};
}

findings examine_mysql_access(const mysql_facts& facts, const std::string& where, bool remote) {
    findings found;
    if (remote && facts.cipher.empty()) {
        found.push_back({level::unsafe, "encryption", where,
                         "the connection is not encrypted: who reads along can end any lease",
                         "write sslmode=verify-full in the URL"});
    }
    if (facts.all_rights) {
        found.push_back({level::note, "permissions", where,
                         "the user has all rights everywhere, far more than leases need",
                         "use a user who may SELECT, INSERT, UPDATE and DELETE the tables alone"});
    }
    constexpr long shortest_wait = 60;
    if (facts.number(wait_timeout) < shortest_wait) {
        found.push_back({level::note, "connections", where,
                         fmt::format("wait_timeout is {} s: a connection that is not used for so "
                                     "long is ended, and made again for the next request",
                                     facts.number(wait_timeout)),
                         "raise wait_timeout"});
    }
    return found;
}

bool is_remote_mysql(const mysql::mysql_options& options) {
    return std::ranges::any_of(options.servers, [](const mysql::server_address& at) {
        return !at.host.starts_with('/') && !at.host.starts_with("127.") &&
               at.host != "localhost" && at.host != "::1";
    });
}

// Of Rpl_semi_sync_master_status and Rpl_semi_sync_slave_status, and their newer names.
bool is_master_on(const std::string& name, const std::string& value) {
    const bool master =
        name.find("master") != std::string::npos || name.find("source") != std::string::npos;
    return master && value == "ON";
}

void read_fact(const mysql::statement_result& one, std::size_t which, mysql_facts& out) {
    if (one.rows == nullptr) return;
    while (const MYSQL_ROW row = ::mysql_fetch_row(one.rows)) {
        const auto text = [&](int at) { return std::string(row[at] != nullptr ? row[at] : ""); };
        switch (which) {
            case 0:
                for (int i = 0; i < column_count; ++i) out.values[static_cast<size_t>(i)] = text(i);
                break;
            case 1: out.cipher = text(1); break;
            case 2: out.cluster = std::atoi(text(1).c_str()); break;
            case 3:
                out.waits_for_replica = out.waits_for_replica || is_master_on(text(0), text(1));
                break;
            case 4: out.isolation = text(1); break;
            case 5: out.time_zone += (out.time_zone.empty() ? "" : ", ") + text(1); break;
            default:
                out.all_rights =
                    out.all_rights || text(0).starts_with("GRANT ALL PRIVILEGES ON *.*");
        }
    }
}

}  // namespace

findings examine_mysql(const url& where) {
    const auto options = detail::read_mysql_url(where);
    if (!options) return {};
    mysql::mysql_link link(*options);
    const time_point deadline = system_clock().now() + mysql_patience;
    if (!link.open(deadline)) return {};  // the trial has said why
    mysql_facts facts;
    std::size_t at = 0;
    const std::int64_t asked = time_of_day_us();
    const auto said = link.ask(
        mysql_question, [&](const mysql::statement_result& one) { read_fact(one, at++, facts); },
        deadline);
    if (!said) return {};
    const std::string& label = link.label();
    findings found{
        examine_mysql_role(facts, label), examine_mysql_durability(facts, label),
        examine_mysql_failover(facts, label),
        examine_sql_connections(options->connections,
                                static_cast<std::size_t>(facts.number(most_connections)), label),
        examine_sql_clock(facts.number(server_moment), asked, label)};
    for (const findings& more : {examine_sql_habits(facts.isolation, facts.time_zone, label),
                                 examine_mysql_access(facts, label, is_remote_mysql(*options))}) {
        found.insert(found.end(), more.begin(), more.end());
    }
    return found;
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
//
// mysql://[user[:password]@]host[:3306][,host…]/database[?options] is a database of a MariaDB or
// MySQL server. With socket=/path and no host it is the server's unix socket.
#include "driver/mysql/mysql_database.hpp"
#include "driver/mysql/mysql_dialect.hpp"
#include "driver/mysql/mysql_session.hpp"
#include "lease/sessions/session_lease_store.hpp"
#include "lease/tables/sql_lease_store.hpp"
#include "open/engines.hpp"
#include "open/mysql_url.hpp"
#include "open/sql_url.hpp"
#include "open/task_databases.hpp"
#include "open/url_options.hpp"
#include "tasks/task_table.hpp"

#include <array>
#include <memory>
#include <utility>

namespace holdfast::detail {
namespace {

using mysql::mysql_options;

result<void> read_mysql_servers(url& rest, mysql_options& out) {
    const auto socket = take_option(rest, "socket");
    std::uint16_t port = mysql::server_address{}.port;
    if (auto read = take_port(rest, port); !read) return read;
    if (socket && (!rest.hosts.empty() || !socket->starts_with('/'))) {
        return wrong_option("socket",
                            "the path of a unix socket, such as /run/mysqld/mysqld.sock, in a "
                            "URL that names no host");
    }
    if (socket) out.servers.push_back({*socket, port});
    for (const url_host& at : rest.hosts) {
        out.servers.push_back({at.name, at.port.value_or(port)});
    }
    constexpr std::size_t most_servers = 16;
    if (!out.servers.empty() && out.servers.size() <= most_servers) return {};
    return fail(errc::invalid_argument,
                "engine URL: a mysql: URL names a server, as in mysql://db.example.com/app or "
                "mysql:///app?socket=/run/mysqld/mysqld.sock");
}

// Without a password the library looks at MYSQL_PWD.
result<void> read_mysql_password(url& rest, mysql_options& out) {
    return take_credentials(rest, out.user, out.password);
}

result<void> read_mysql_tls(url& rest, mysql_options& out) {
    constexpr std::array<std::string_view, 3> modes{"disable", "require", "verify-full"};
    auto mode = take_tls_mode(rest, modes);
    if (!mode) return std::unexpected(std::move(mode.error()));
    out.sslmode = std::move(*mode);
    if (auto file = take_option(rest, "ca_file")) out.ca_file = std::move(*file);
    if (auto file = take_option(rest, "certificate_file")) out.certificate_file = std::move(*file);
    if (auto file = take_option(rest, "key_file")) out.key_file = std::move(*file);
    return {};
}

result<void> read_mysql_use(url& rest, mysql_options& out) {
    auto read = take_connections(rest, out.connections);
    if (read) read = take_mode(rest, out.session_locks);
    if (read) read = take_switch(rest, "create", out.create);
    if (read) read = take_time(rest, "statement_timeout", out.statement_timeout);
    if (read) read = take_time(rest, "connect_timeout", out.connect_timeout);
    return read;
}

}  // namespace

result<mysql_options> read_mysql_url(const url& where) {
    constexpr std::array<std::string_view, 14> known{"mode",
                                                     "socket",
                                                     "user",
                                                     "port",
                                                     "password_file",
                                                     "password_env",
                                                     "sslmode",
                                                     "ca_file",
                                                     "create",
                                                     "certificate_file",
                                                     "key_file",
                                                     "connections",
                                                     "statement_timeout",
                                                     "connect_timeout"};
    if (auto fit = only_options(where, known); !fit) return std::unexpected(std::move(fit.error()));
    mysql_options out;
    url rest = where;
    for (const auto part :
         {read_mysql_servers, read_mysql_password, read_mysql_tls, read_mysql_use}) {
        if (auto read = part(rest, out); !read) return std::unexpected(std::move(read.error()));
    }
    auto database = database_of(rest);
    if (!database) return std::unexpected(std::move(database.error()));
    out.database = std::move(*database);
    return out;
}

result<opened_engine> open_mysql(const url& where, const client_options& options) {
    auto read = read_mysql_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
    if (read->session_locks) {
        const session::session_options use{.connections = read->connections,
                                           .label = mysql::label_of(*read)};
        const auto make = [at = *read] { return std::make_unique<mysql::mysql_session>(at); };
        return opened_engine{
            std::make_shared<session::session_lease_store>(make, use, *options.time), nullptr};
    }
    auto database = std::make_unique<mysql::mysql_database>(std::move(*read), *options.time);
    return opened_engine{std::make_shared<sql::sql_lease_store>(std::move(database), *options.time),
                         nullptr};
}

result<task_store> open_mysql_tasks(const url& where, const task_store_options& options) {
    auto read = read_mysql_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
    const auto texts = task_statements(mysql::mysql_dialect(), writers::together_plain);
    auto database = std::make_unique<mysql::mysql_database>(std::move(*read), *options.time, texts);
    return task_store(
        std::make_shared<task_table>(std::move(database), writers::together_plain, options));
}

}  // namespace holdfast::detail

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

constexpr server_words mysql_words{
    .socket = "socket",
    .socket_is =
        "the path of a unix socket, such as /run/mysqld/mysqld.sock, in a URL that names "
        "no host",
    .usual_port = 3306,
    .example =
        "a mysql: URL names a server, as in mysql://db.example.com/app or "
        "mysql:///app?socket=/run/mysqld/mysqld.sock"};

constexpr std::array<std::string_view, 3> mysql_tls_modes{"disable", "require", "verify-full"};

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
    // Without a password the library looks at MYSQL_PWD.
    if (auto read = take_common(rest, mysql_words, mysql_tls_modes, out); !read) {
        return std::unexpected(std::move(read.error()));
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

// SPDX-License-Identifier: Apache-2.0
//
// postgresql://[user[:password]@]host[:5432][,host…]/database[?options] is a database of a
// PostgreSQL server. With host=/directory and no host it is the server's unix socket.
#include "driver/postgresql/postgresql_database.hpp"
#include "driver/postgresql/postgresql_dialect.hpp"
#include "driver/postgresql/postgresql_session.hpp"
#include "lease/sessions/session_lease_store.hpp"
#include "lease/tables/sql_lease_store.hpp"
#include "open/engines.hpp"
#include "open/postgresql_url.hpp"
#include "open/sql_url.hpp"
#include "open/task_databases.hpp"
#include "open/url_options.hpp"
#include "tasks/task_table.hpp"

#include <array>
#include <memory>
#include <utility>

namespace holdfast::detail {
namespace {

using postgresql::postgresql_options;

constexpr server_words postgresql_words{
    .socket = "host",
    .socket_is =
        "the directory of a unix socket, such as /run/postgresql, in a URL that names no "
        "other host",
    .usual_port = 5432,
    .example =
        "a postgresql: URL names a server, as in postgresql://db.example.com/app or "
        "postgresql:///app?host=/run/postgresql"};

constexpr std::array<std::string_view, 4> tls_modes{"disable", "require", "verify-ca",
                                                    "verify-full"};

// Without a password libpq looks at PGPASSWORD and ~/.pgpass.
result<void> read_options(url& rest, postgresql_options& out) {
    if (auto text = take_option(rest, "schema")) out.schema = std::move(*text);
    if (const auto text = take_option(rest, "pooler")) {
        if (*text != "session") return wrong_option("pooler", "session");
        out.pooler_keeps_session = true;
    }
    return take_common(rest, postgresql_words, tls_modes, out);
}

}  // namespace

result<postgresql_options> read_postgresql_url(const url& where) {
    constexpr std::array<std::string_view, 16> known{
        "mode",           "host",          "user",
        "port",           "password_file", "password_env",
        "sslmode",        "ca_file",       "certificate_file",
        "key_file",       "connections",   "schema",
        "create",         "pooler",        "statement_timeout",
        "connect_timeout"};
    if (auto fit = only_options(where, known); !fit) return std::unexpected(std::move(fit.error()));
    postgresql_options out;
    url rest = where;
    if (auto read = read_options(rest, out); !read) return std::unexpected(std::move(read.error()));
    auto database = database_of(rest);
    if (!database) return std::unexpected(std::move(database.error()));
    out.database = std::move(*database);
    return out;
}

result<opened_engine> open_postgresql(const url& where, const client_options& options) {
    auto read = read_postgresql_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
    if (read->session_locks) {
        const session::session_options use{.connections = read->connections,
                                           .label = postgresql::label_of(*read)};
        const auto make = [at = *read] {
            return std::make_unique<postgresql::postgresql_session>(at);
        };
        return opened_engine{
            std::make_shared<session::session_lease_store>(make, use, *options.time), nullptr};
    }
    auto database =
        std::make_unique<postgresql::postgresql_database>(std::move(*read), *options.time);
    return opened_engine{std::make_shared<sql::sql_lease_store>(std::move(database), *options.time),
                         nullptr};
}

result<task_store> open_postgresql_tasks(const url& where, const task_store_options& options) {
    auto read = read_postgresql_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
    auto database = std::make_unique<postgresql::postgresql_database>(
        std::move(*read), *options.time,
        task_statements(postgresql::postgresql_dialect(), writers::together));
    return task_store(
        std::make_shared<task_table>(std::move(database), writers::together, options));
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
//
// postgresql://[user[:password]@]host[:5432][,host…]/database[?options] is a database of a
// PostgreSQL server. With host=/directory and no host it is the server's unix socket.
#include "driver/postgresql/postgresql_database.hpp"
#include "driver/postgresql/postgresql_dialect.hpp"
#include "lease/tables/sql_lease_store.hpp"
#include "open/engines.hpp"
#include "open/postgresql_url.hpp"
#include "open/task_databases.hpp"
#include "open/url_options.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;
using postgresql::postgresql_options;

constexpr std::uint16_t usual_port = 5432;

template <class Number>
bool read_count(const std::string& text, Number least, Number most, Number& out) {
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, out);
    return problem == std::errc{} && rest == end && out >= least && out <= most;
}

result<void> read_servers(url& rest, postgresql_options& out) {
    const auto socket = take_option(rest, "host");
    std::uint16_t port = usual_port;
    if (const auto text = take_option(rest, "port")) {
        if (!read_count<std::uint16_t>(*text, 1, 65535, port)) {
            return wrong_option("port", "a number from 1 to 65535");
        }
    }
    if (socket && (!rest.hosts.empty() || !socket->starts_with('/'))) {
        return wrong_option("host",
                            "the directory of a unix socket, such as /run/postgresql, in a "
                            "URL that names no other host");
    }
    if (socket) out.servers.push_back({*socket, port});
    for (const url_host& at : rest.hosts) {
        out.servers.push_back({at.name, at.port.value_or(port)});
    }
    constexpr std::size_t most_servers = 16;
    if (!out.servers.empty() && out.servers.size() <= most_servers) return {};
    return fail(errc::invalid_argument,
                "engine URL: a postgresql: URL names a server, as in "
                "postgresql://db.example.com/app or postgresql:///app?host=/run/postgresql");
}

// From the URL, a file or the environment. Otherwise libpq looks at PGPASSWORD and ~/.pgpass.
result<void> read_password(url& rest, postgresql_options& out) {
    out.user = rest.user.value_or("");
    if (auto user = take_option(rest, "user")) out.user = std::move(*user);
    out.password = rest.password.value_or("");
    if (const auto path = take_option(rest, "password_file")) {
        std::ifstream file(*path);
        if (!file || !std::getline(file, out.password)) {
            return wrong_option("password_file",
                                "a readable file whose first line is the password");
        }
        if (out.password.ends_with('\r')) out.password.pop_back();
    }
    if (const auto variable = take_option(rest, "password_env")) {
        const char* const value = std::getenv(variable->c_str());
        if (value == nullptr) {
            return wrong_option("password_env", "the name of an environment variable that is set");
        }
        out.password = value;
    }
    return {};
}

result<void> read_tls(url& rest, postgresql_options& out) {
    constexpr std::array modes{"disable", "require", "verify-ca", "verify-full"};
    if (const auto text = take_option(rest, "sslmode")) {
        if (std::ranges::find(modes, *text) == modes.end()) {
            return wrong_option("sslmode", "disable, require, verify-ca or verify-full");
        }
        out.sslmode = *text;
    }
    if (auto file = take_option(rest, "ca_file")) out.ca_file = std::move(*file);
    if (auto file = take_option(rest, "certificate_file")) out.certificate_file = std::move(*file);
    if (auto file = take_option(rest, "key_file")) out.key_file = std::move(*file);
    return {};
}

result<void> read_span(url& rest, std::string_view name, duration& out) {
    const auto text = take_option(rest, name);
    if (!text) return {};
    const auto span = parse_span(*text);
    if (!span || *span < 10ms || *span > 10min)
        return wrong_option(name, "a time from 10ms to 10m");
    out = *span;
    return {};
}

result<void> read_use(url& rest, postgresql_options& out) {
    if (const auto text = take_option(rest, "connections")) {
        if (!read_count<std::size_t>(*text, 1, 1000, out.connections)) {
            return wrong_option("connections", "how many there may be, from 1 to 1000");
        }
    }
    if (auto text = take_option(rest, "schema")) out.schema = std::move(*text);
    if (const auto text = take_option(rest, "create")) {
        if (*text != "on" && *text != "off") return wrong_option("create", "on or off");
        out.create = *text == "on";
    }
    if (const auto text = take_option(rest, "pooler")) {
        if (*text != "session") return wrong_option("pooler", "session");
        out.pooler_keeps_session = true;
    }
    auto read = read_span(rest, "statement_timeout", out.statement_timeout);
    if (read) read = read_span(rest, "connect_timeout", out.connect_timeout);
    return read;
}

}  // namespace

result<postgresql_options> read_postgresql_url(const url& where) {
    constexpr std::array<std::string_view, 15> known{"host",           "user",
                                                     "port",           "password_file",
                                                     "password_env",   "sslmode",
                                                     "ca_file",        "certificate_file",
                                                     "key_file",       "connections",
                                                     "schema",         "create",
                                                     "pooler",         "statement_timeout",
                                                     "connect_timeout"};
    if (auto fit = only_options(where, known); !fit) return std::unexpected(std::move(fit.error()));
    postgresql_options out;
    url rest = where;
    for (const auto part : {read_servers, read_password, read_tls, read_use}) {
        if (auto read = part(rest, out); !read) return std::unexpected(std::move(read.error()));
    }
    out.database = rest.path.starts_with('/') ? rest.path.substr(1) : rest.path;
    const bool fits = !out.database.empty() && out.database.find('/') == std::string::npos &&
                      out.database.find('\0') == std::string::npos;
    if (fits) return out;
    return fail(errc::invalid_argument,
                "engine URL: a postgresql: URL names a database, as in "
                "postgresql://db.example.com/app");
}

result<opened_engine> open_postgresql(const url& where, const client_options& options) {
    auto read = read_postgresql_url(where);
    if (!read) return std::unexpected(std::move(read.error()));
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "open/url_options.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/url.hpp>
#include <holdfast/error.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// What the URLs of SQL servers have in common. Each function takes its options out of the URL.
/// Errors: invalid_argument, naming the option and what it takes.
namespace holdfast::detail {

/// A whole number of that range.
[[nodiscard]] bool read_number(const std::string& text, std::size_t least, std::size_t most,
                               std::size_t& out);

/// How a kind of server is named in a URL.
struct server_words {
    std::string_view socket;     ///< The option that names a unix socket,
    std::string_view socket_is;  ///< … and what it takes.
    std::uint16_t usual_port;
    std::string_view example;  ///< Of a URL with a server, and one with a socket.
};

struct named_server {
    std::string host;  ///< Or what the unix socket's option says.
    std::uint16_t port;
};

/// The servers that the URL names, 16 at most, or a unix socket; and port.
[[nodiscard]] result<std::vector<named_server>> take_servers(url& rest, const server_words& words);

/// user, password_file, password_env; and what the URL itself says.
[[nodiscard]] result<void> take_credentials(url& rest, std::string& user, std::string& password);

/// sslmode, one of these; "" if it is not there.
[[nodiscard]] result<std::string> take_tls_mode(url& rest, std::span<const std::string_view> modes);

/// A time from 10 ms to 10 minutes.
[[nodiscard]] result<void> take_time(url& rest, std::string_view name, duration& out);

[[nodiscard]] result<void> take_connections(url& rest, std::size_t& out);

/// mode: row or session. True if it is session.
[[nodiscard]] result<void> take_mode(url& rest, bool& session);

/// on or off.
[[nodiscard]] result<void> take_switch(url& rest, std::string_view name, bool& out);

/// Everything that the options of both kinds of server have: where it is, who we are, certificates,
/// how it is used. `Options` is postgresql_options or mysql_options.
template <class Options>
[[nodiscard]] result<void> take_common(url& rest, const server_words& words,
                                       std::span<const std::string_view> tls_modes, Options& out) {
    auto servers = take_servers(rest, words);
    if (!servers) return std::unexpected(std::move(servers.error()));
    for (named_server& at : *servers) out.servers.push_back({std::move(at.host), at.port});
    if (auto read = take_credentials(rest, out.user, out.password); !read) return read;
    auto mode = take_tls_mode(rest, tls_modes);
    if (!mode) return std::unexpected(std::move(mode.error()));
    out.sslmode = std::move(*mode);
    if (auto file = take_option(rest, "ca_file")) out.ca_file = std::move(*file);
    if (auto file = take_option(rest, "certificate_file")) out.certificate_file = std::move(*file);
    if (auto file = take_option(rest, "key_file")) out.key_file = std::move(*file);
    auto read = take_connections(rest, out.connections);
    if (read) read = take_mode(rest, out.session_locks);
    if (read) read = take_switch(rest, "create", out.create);
    if (read) read = take_time(rest, "statement_timeout", out.statement_timeout);
    if (read) read = take_time(rest, "connect_timeout", out.connect_timeout);
    return read;
}

/// The path without its '/', if it is the name of a database.
[[nodiscard]] result<std::string> database_of(const url& where);

}  // namespace holdfast::detail

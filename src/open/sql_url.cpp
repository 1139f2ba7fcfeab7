// SPDX-License-Identifier: Apache-2.0
#include "open/sql_url.hpp"

#include "open/url_options.hpp"

#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace holdfast::detail {

using namespace std::chrono_literals;

bool read_number(const std::string& text, std::size_t least, std::size_t most, std::size_t& out) {
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, out);
    return problem == std::errc{} && rest == end && out >= least && out <= most;
}

result<std::vector<named_server>> take_servers(url& rest, const server_words& words) {
    const auto socket = take_option(rest, words.socket);
    std::size_t port = words.usual_port;
    const auto text = take_option(rest, "port");
    if (text && !read_number(*text, 1, 65535, port)) {
        return wrong_option("port", "a number from 1 to 65535");
    }
    if (socket && (!rest.hosts.empty() || !socket->starts_with('/'))) {
        return wrong_option(words.socket, words.socket_is);
    }
    std::vector<named_server> found;
    const auto usual = static_cast<std::uint16_t>(port);
    if (socket) found.push_back({*socket, usual});
    for (const url_host& at : rest.hosts) found.push_back({at.name, at.port.value_or(usual)});
    constexpr std::size_t most_servers = 16;
    if (!found.empty() && found.size() <= most_servers) return found;
    return fail(errc::invalid_argument, fmt::format("engine URL: {}", words.example));
}

result<void> take_credentials(url& rest, std::string& user, std::string& password) {
    user = rest.user.value_or("");
    if (auto text = take_option(rest, "user")) user = std::move(*text);
    password = rest.password.value_or("");
    if (const auto path = take_option(rest, "password_file")) {
        std::ifstream file(*path);
        if (!file || !std::getline(file, password)) {
            return wrong_option("password_file",
                                "a readable file whose first line is the password");
        }
        if (password.ends_with('\r')) password.pop_back();
    }
    if (const auto variable = take_option(rest, "password_env")) {
        const char* const value = std::getenv(variable->c_str());
        if (value == nullptr) {
            return wrong_option("password_env", "the name of an environment variable that is set");
        }
        password = value;
    }
    return {};
}

result<std::string> take_tls_mode(url& rest, std::span<const std::string_view> modes) {
    auto text = take_option(rest, "sslmode");
    if (!text) return std::string();
    if (std::ranges::find(modes, *text) != modes.end()) return std::move(*text);
    return wrong_option(
        "sslmode",
        fmt::format("{} or {}", fmt::join(modes.first(modes.size() - 1), ", "), modes.back()));
}

result<void> take_time(url& rest, std::string_view name, duration& out) {
    const auto text = take_option(rest, name);
    if (!text) return {};
    const auto span = parse_span(*text);
    if (!span || *span < 10ms || *span > 10min) {
        return wrong_option(name, "a time from 10ms to 10m");
    }
    out = *span;
    return {};
}

result<void> take_connections(url& rest, std::size_t& out) {
    const auto text = take_option(rest, "connections");
    if (!text || read_number(*text, 1, 1000, out)) return {};
    return wrong_option("connections", "how many there may be, from 1 to 1000");
}

result<void> take_mode(url& rest, bool& session) {
    const auto text = take_option(rest, "mode");
    if (!text) return {};
    if (*text != "row" && *text != "session") return wrong_option("mode", "row or session");
    session = *text == "session";
    return {};
}

result<void> take_switch(url& rest, std::string_view name, bool& out) {
    const auto text = take_option(rest, name);
    if (!text) return {};
    if (*text != "on" && *text != "off") return wrong_option(name, "on or off");
    out = *text == "on";
    return {};
}

result<std::string> database_of(const url& where) {
    std::string name = where.path.starts_with('/') ? where.path.substr(1) : where.path;
    const bool fits = !name.empty() && name.find('/') == std::string::npos &&
                      name.find('\0') == std::string::npos;
    if (fits) return name;
    return fail(errc::invalid_argument,
                fmt::format("engine URL: a {0}: URL names a database, as in "
                            "{0}://db.example.com/app",
                            where.scheme == "postgres" ? "postgresql" : where.scheme));
}

}  // namespace holdfast::detail

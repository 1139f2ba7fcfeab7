// SPDX-License-Identifier: Apache-2.0
#include "net/access_rules.hpp"

#include "net/handshake_token.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>

namespace holdfast::net {
namespace {

// "name:port" or "[address]:port" without the port.
std::string_view without_port(std::string_view host) {
    if (host.starts_with('[')) return host.substr(0, host.find(']') + 1);
    return host.substr(0, host.find(':'));
}

bool is_address(std::string_view host) {
    in6_addr into{};
    if (host.starts_with('[') && host.ends_with(']')) {
        return inet_pton(AF_INET6, std::string(host.substr(1, host.size() - 2)).c_str(), &into) ==
               1;
    }
    return inet_pton(AF_INET, std::string(host).c_str(), &into) == 1;
}

bool knows_host(const access_rules& rules, std::string_view host) {
    const std::string_view name = without_port(host);
    return is_address(name) || same_word(name, "localhost") ||
           std::ranges::any_of(rules.hosts, [&](const auto& one) { return same_word(one, name); });
}

bool knows_origin(const access_rules& rules, std::string_view origin, std::string_view host) {
    for (const auto& one : rules.origins) {
        if (one == "*" || same_word(one, origin)) return true;
    }
    const auto scheme = origin.find("://");
    return scheme != std::string_view::npos && same_word(origin.substr(scheme + 3), host);
}

}  // namespace

std::optional<http_response> refuse_stranger(const access_rules& rules,
                                             const http_request& request) {
    const std::string_view host = request.header_value("Host");
    if (!knows_host(rules, host)) {
        return problem(421, "unknown_host",
                       "this server does not go by that name; allow it with --host");
    }
    const std::string_view origin = request.header_value("Origin");
    if (!origin.empty() && !knows_origin(rules, origin, host)) {
        return problem(403, "unknown_origin",
                       "pages of that origin may not ask; allow it with --origin");
    }
    return std::nullopt;
}

std::optional<http_response> refuse_without_token(const access_rules& rules,
                                                  const http_request& request) {
    if (rules.bearer.empty()) return std::nullopt;
    const std::string_view said = request.header_value("Authorization");
    constexpr std::string_view scheme = "Bearer ";
    if (said.size() > scheme.size() && same_word(said.substr(0, scheme.size()), scheme) &&
        same_secret(said.substr(scheme.size()), rules.bearer)) {
        return std::nullopt;
    }
    auto refused = problem(401, "no_token", "send the header Authorization: Bearer TOKEN");
    refused.headers.emplace_back("WWW-Authenticate", "Bearer");
    return refused;
}

result<listen_address> parse_listen(std::string_view text) {
    const auto wrong = [text](std::string_view why) {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' {}; say an address and a port: 127.0.0.1:8090", text, why));
    };
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos) return wrong("has no port");
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    listen_address out;
    const char* const end = port.data() + port.size();
    const auto read = std::from_chars(port.data(), end, out.port);
    if (read.ec != std::errc{} || read.ptr != end) return wrong("has no port from 0 to 65535");
    if (host == "localhost") host = "127.0.0.1";
    if (!is_address(host)) return wrong("names no address");
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    out.host = host;
    out.loopback = out.host.starts_with("127.") || out.host == "::1";
    return out;
}

}  // namespace holdfast::net

// SPDX-License-Identifier: Apache-2.0
//
// A URL is split from the outside in: scheme, query, authority, path. A password that holds an
// unescaped '/', '?' or '#' makes the rest look like something else, so an error names the part
// and the remedy ("percent-encode …"), and never quotes.
#include <holdfast/engine/url.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

namespace holdfast {
namespace {

std::unexpected<error> wrong(std::string detail) {
    return fail(errc::invalid_argument, std::move(detail));
}

int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

result<std::string> decoded(std::string_view text, std::string_view part) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            out += text[at];
            continue;
        }
        const int high = at + 2 < text.size() ? hex_value(text[at + 1]) : -1;
        const int low = at + 2 < text.size() ? hex_value(text[at + 2]) : -1;
        if (high < 0 || low < 0) {
            return wrong(fmt::format(
                "the URL's {} has a '%' without two hex digits: write '%25' for a percent sign",
                part));
        }
        out += static_cast<char>(high * 16 + low);
        at += 2;
    }
    // Whoever writes a log by lines could be made to write others.
    const auto controls = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
    if (part != "password" && std::ranges::any_of(out, controls)) {
        return wrong(fmt::format("the URL's {} has a control character: leave it out", part));
    }
    return out;
}

result<std::uint16_t> parsed_port(std::string_view text) {
    unsigned value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem != std::errc() || end != text.data() + text.size() || value == 0 || value > 65535) {
        return wrong(
            "a port of the URL is not a number from 1 to 65535 (a password with '/', '?', '#' or "
            "'@' must be percent-encoded)");
    }
    return static_cast<std::uint16_t>(value);
}

result<url_host> parsed_host(std::string_view text) {
    url_host host;
    std::string_view name = text;
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        const auto close = text.find(']');
        if (close == std::string_view::npos)
            return wrong("an IPv6 address of the URL lacks its ']'");
        name = text.substr(1, close - 1);
        const std::string_view rest = text.substr(close + 1);
        if (!rest.empty() && rest[0] != ':') return wrong("something stands between ']' and port");
        has_port = !rest.empty();
        port = has_port ? rest.substr(1) : rest;
    } else if (const auto colon = text.rfind(':'); colon != std::string_view::npos) {
        if (text.find(':') != colon) return wrong("an IPv6 address of the URL needs '[' and ']'");
        name = text.substr(0, colon);
        port = text.substr(colon + 1);
        has_port = true;
    }
    if (name.empty()) return wrong("a host of the URL is empty");
    auto plain = decoded(name, "host");
    if (!plain) return std::unexpected(plain.error());
    host.name = std::move(*plain);
    if (has_port) {
        auto number = parsed_port(port);
        if (!number) return std::unexpected(number.error());
        host.port = *number;
    }
    return host;
}

result<void> split_userinfo(std::string_view text, url& out) {
    const auto colon = text.find(':');
    auto user = decoded(text.substr(0, colon), "user");
    if (!user) return std::unexpected(user.error());
    out.user = std::move(*user);
    if (colon == std::string_view::npos) return {};
    auto password = decoded(text.substr(colon + 1), "password");
    if (!password) return std::unexpected(password.error());
    out.password = std::move(*password);
    return {};
}

result<void> split_authority(std::string_view text, url& out) {
    if (const auto at = text.rfind('@'); at != std::string_view::npos) {
        if (auto done = split_userinfo(text.substr(0, at), out); !done) return done;
        text = text.substr(at + 1);
        if (text.empty()) return wrong("the URL names no host after '@'");
    }
    while (!text.empty()) {
        const auto comma = text.find(',');
        auto host = parsed_host(text.substr(0, comma));
        if (!host) return std::unexpected(host.error());
        out.hosts.push_back(std::move(*host));
        if (comma == std::string_view::npos) break;
        text = text.substr(comma + 1);
        if (text.empty()) return wrong("the URL's list of hosts ends with a comma");
    }
    return {};
}

result<void> split_options(std::string_view text, url& out) {
    while (!text.empty()) {
        const auto amp = text.find('&');
        const std::string_view one = text.substr(0, amp);
        text = amp == std::string_view::npos ? std::string_view() : text.substr(amp + 1);
        if (one.empty()) continue;
        const auto equals = one.find('=');
        auto name = decoded(one.substr(0, equals), "option name");
        if (!name) return std::unexpected(name.error());
        if (name->empty()) return wrong("an option of the URL has no name");
        if (equals == std::string_view::npos) {
            return wrong("an option of the URL has no '=': options are written name=value");
        }
        auto value = decoded(one.substr(equals + 1), "option value");
        if (!value) return std::unexpected(value.error());
        out.options.emplace_back(std::move(*name), std::move(*value));
    }
    return {};
}

bool is_scheme(std::string_view text) {
    const auto letter = [](unsigned char c) { return std::isalpha(c) != 0; };
    const auto allowed = [](unsigned char c) {
        return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
    };
    return !text.empty() && letter(static_cast<unsigned char>(text[0])) &&
           std::ranges::all_of(text, allowed);
}

bool speaks_of_a_secret(std::string_view name) {
    const auto holds = [&](std::string_view word) {
        return name.find(word) != std::string_view::npos;
    };
    return holds("pass") || holds("secret") || holds("token");
}

}  // namespace

result<url> parse_url(std::string_view text) {
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon))) {
        return wrong(
            "this is not the URL of an engine: use sqlite:/path/of/a/file, redis://host, or "
            "another");
    }
    url out;
    for (const char c : text.substr(0, colon)) {
        out.scheme += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    std::string_view rest = text.substr(colon + 1);
    if (rest.find('#') != std::string_view::npos) {
        return wrong("the URL has a '#': write it as '%23'");
    }
    std::string_view query;
    if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
        query = rest.substr(mark + 1);
        rest = rest.substr(0, mark);
    }
    if (rest.starts_with("//")) {
        rest = rest.substr(2);
        const auto slash = rest.find('/');
        if (auto done = split_authority(rest.substr(0, slash), out); !done) {
            return std::unexpected(done.error());
        }
        rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
    }
    auto path = decoded(rest, "path");
    if (!path) return std::unexpected(path.error());
    out.path = std::move(*path);
    if (auto done = split_options(query, out); !done) return std::unexpected(done.error());
    return out;
}

std::string redacted(const url& parsed) {
    std::string out = parsed.scheme + ":";
    // As the guides write them: sqlite:/path, redis+unix:///path.
    const bool has_authority = parsed.user || !parsed.hosts.empty() ||
                               parsed.path.starts_with("//") ||
                               (parsed.path.starts_with('/') && parsed.scheme.ends_with("+unix"));
    if (has_authority) out += "//";
    if (parsed.user) out += *parsed.user;
    if (parsed.password) out += ":***";
    if (parsed.user) out += '@';
    const char* separator = "";
    for (const url_host& host : parsed.hosts) {
        const bool v6 = host.name.find(':') != std::string::npos;
        out += separator;
        out += v6 ? fmt::format("[{}]", host.name) : host.name;
        if (host.port) out += fmt::format(":{}", *host.port);
        separator = ",";
    }
    out += parsed.path;
    char mark = '?';
    for (const auto& [name, value] : parsed.options) {
        out += mark;
        out += fmt::format("{}={}", name, speaks_of_a_secret(name) ? "***" : value);
        mark = '&';
    }
    return out;
}

std::string redacted(std::string_view text) {
    if (const auto parsed = parse_url(text)) return redacted(*parsed);
    const auto colon = text.find(':');
    if (colon == std::string_view::npos || !is_scheme(text.substr(0, colon))) return "(not a URL)";
    return std::string(text.substr(0, colon)) + ":(unreadable)";
}

}  // namespace holdfast

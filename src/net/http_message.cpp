// SPDX-License-Identifier: Apache-2.0
#include "net/http_message.hpp"

#include <holdfast/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace holdfast::net {
namespace {

constexpr std::string_view problem_types = "urn:holdfast:problem:";

constexpr char lower(char c) noexcept {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    const char small = lower(c);
    if (small >= 'a' && small <= 'f') return small - 'a' + 10;
    return -1;
}

enum class plus_sign : bool { itself, blank };

std::optional<std::string> unescape(std::string_view text, plus_sign plus) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        char c = text[i];
        if (c == '%') {
            if (i + 2 >= text.size()) return std::nullopt;
            const int high = hex_digit(text[i + 1]);
            const int low = hex_digit(text[i + 2]);
            if (high < 0 || low < 0) return std::nullopt;
            c = static_cast<char>(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus == plus_sign::blank) {
            c = ' ';
        }
        if (c == '\0') return std::nullopt;
        out.push_back(c);
    }
    return out;
}

// The length of the UTF-8 character that the text begins with; 0 if there is none.
std::size_t character_length(std::string_view text) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (length > text.size() || !is_utf8(text.substr(0, length))) return 0;
    return length;
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) noexcept {
    return std::ranges::equal(a, b, {}, lower, lower);
}

std::string_view http_request::header_value(std::string_view name) const noexcept {
    for (const auto& [one, value] : headers) {
        if (same_word(one, name)) return value;
    }
    return {};
}

std::optional<std::string_view> http_request::parameter(std::string_view name) const noexcept {
    for (const auto& [one, value] : query) {
        if (one == name) return value;
    }
    return std::nullopt;
}

std::string quoted_json(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t length = character_length(text);
        if (length == 0) {
            out += "\xEF\xBF\xBD";
            text.remove_prefix(1);
            continue;
        }
        const auto first = static_cast<unsigned char>(text.front());
        if (first < 0x20 || first == 0x7F) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", first);
        } else {
            if (first == '"' || first == '\\') out += '\\';
            out += text.substr(0, length);
        }
        text.remove_prefix(length);
    }
    return out += '"';
}

http_response problem(int status, std::string_view reason, std::string_view detail) {
    return {
        .status = status,
        .type = "application/problem+json",
        .headers = {},
        .body = fmt::format(R"({{"type":"{}{}","title":{},"status":{},"reason":"{}","detail":{}}})",
                            problem_types, reason, quoted_json(status_text(status)), status, reason,
                            quoted_json(detail))};
}

std::string_view status_text(int status) noexcept {
    static constexpr std::array<std::pair<int, std::string_view>, 21> texts{{
        {101, "Switching Protocols"},
        {200, "OK"},
        {204, "No Content"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
    }};
    const auto* const found =
        std::ranges::find(texts, status, &std::pair<int, std::string_view>::first);
    return found == texts.end() ? "Unknown" : found->second;
}

std::string to_bytes(const http_response& response, after_response then, bool head_only) {
    std::string out =
        fmt::format("HTTP/1.1 {} {}\r\n", response.status, status_text(response.status));
    const auto put = [&out](std::string_view name, std::string_view value) {
        out.append(name).append(": ").append(value).append("\r\n");
    };
    for (const auto& [name, value] : response.headers) put(name, value);
    if (response.status != 101) {
        if (!response.body.empty()) put("Content-Type", response.type);
        put("Content-Length", std::to_string(response.body.size()));
        put("Connection", then == after_response::keep_alive ? "keep-alive" : "close");
    }
    out += "\r\n";
    if (!head_only) out += response.body;
    return out;
}

std::optional<decoded_target> decode_target(std::string_view target) {
    if (!target.starts_with('/')) return std::nullopt;
    const auto mark = target.find('?');
    auto path = unescape(target.substr(0, mark), plus_sign::itself);
    if (!path) return std::nullopt;
    decoded_target out{.path = std::move(*path), .query = {}};
    std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
    while (!rest.empty()) {
        const std::string_view one = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(rest.size(), one.size() + 1));
        if (one.empty()) continue;
        const auto equals = one.find('=');
        auto name = unescape(one.substr(0, equals), plus_sign::blank);
        auto value = unescape(equals == std::string_view::npos ? "" : one.substr(equals + 1),
                              plus_sign::blank);
        if (!name || !value) return std::nullopt;
        out.query.emplace_back(std::move(*name), std::move(*value));
    }
    return out;
}

}  // namespace holdfast::net

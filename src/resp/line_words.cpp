// SPDX-License-Identifier: Apache-2.0
#include "resp/line_words.hpp"

#include <fmt/format.h>

#include <cctype>
#include <iterator>

namespace holdfast::resp {
namespace {

bool blank(char c) noexcept {
    return std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\0';
}

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

char unescaped(char c) noexcept {
    switch (c) {
        case 'n': return '\n';
        case 'r': return '\r';
        case 't': return '\t';
        case 'b': return '\b';
        case 'a': return '\a';
        default: return c;
    }
}

// What follows an opening quote; removes it and the closing one. False: it is not closed.
bool take_quoted(std::string_view& rest, char quote, std::string& word) {
    while (!rest.empty()) {
        const char c = rest.front();
        rest.remove_prefix(1);
        if (c == quote) return rest.empty() || blank(rest.front());
        if (c != '\\' || rest.empty()) {
            word += c;
        } else if (quote == '\'') {
            word += rest.front() == '\'' ? '\'' : '\\';
            if (rest.front() == '\'') rest.remove_prefix(1);
        } else if (rest.size() >= 3 && rest[0] == 'x' && hex_digit(rest[1]) >= 0 &&
                   hex_digit(rest[2]) >= 0) {
            word += static_cast<char>(hex_digit(rest[1]) * 16 + hex_digit(rest[2]));
            rest.remove_prefix(3);
        } else {
            word += unescaped(rest.front());
            rest.remove_prefix(1);
        }
    }
    return false;
}

}  // namespace

std::optional<std::vector<std::string>> split_line(std::string_view line) {
    std::vector<std::string> words;
    while (true) {
        while (!line.empty() && blank(line.front())) line.remove_prefix(1);
        if (line.empty()) return words;
        std::string& word = words.emplace_back();
        while (!line.empty() && !blank(line.front())) {
            const char c = line.front();
            line.remove_prefix(1);
            if (c != '"' && c != '\'') {
                word += c;
            } else if (!take_quoted(line, c, word)) {
                return std::nullopt;
            }
        }
    }
}

void append_quoted(std::string& to, std::string_view word) {
    to += '"';
    for (const char c : word) {
        switch (c) {
            case '\\':
            case '"':
                to += '\\';
                to += c;
                break;
            case '\n': to += "\\n"; break;
            case '\r': to += "\\r"; break;
            case '\t': to += "\\t"; break;
            case '\a': to += "\\a"; break;
            case '\b': to += "\\b"; break;
            default:
                if (c >= ' ' && c <= '~') {
                    to += c;
                } else {
                    fmt::format_to(std::back_inserter(to), "\\x{:02x}",
                                   static_cast<unsigned char>(c));
                }
        }
    }
    to += '"';
}

}  // namespace holdfast::resp

// SPDX-License-Identifier: Apache-2.0
#include "differential/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace holdfast::test {
namespace {

std::string in_quotes(std::string_view text) {
    std::string out = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (byte < 0x20 || byte >= 0x7F) {
            out += fmt::format("\\x{:02x}", byte);
        } else {
            out += c;
        }
    }
    return out + '"';
}

bool is_plain(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               c == '.' || c == '-' || c == '+' || c == ':' || c == '_';
    });
}

std::string line(const word_vector& args) {
    std::string out;
    for (const std::string& word : args) {
        if (!out.empty()) out += ' ';
        out += is_plain(word) ? word : in_quotes(word);
    }
    return out;
}

}  // namespace

std::string to_string(const operation& step) {
    switch (step.what) {
        case operation::kind::command: return fmt::format("{}> {}", step.session, line(step.args));
        case operation::kind::pause: return fmt::format("-- {} ms pass", step.pause_ms);
        case operation::kind::transaction: {
            std::string out = "T> ";
            for (const word_vector& args : step.body) out += "{ " + line(args) + " } ";
            return out;
        }
    }
    return "";
}

std::string command_name(const word_vector& args) {
    std::string name = args.empty() ? "" : args.front();
    std::ranges::transform(name, name.begin(), [](char c) {
        return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    });
    return name;
}

}  // namespace holdfast::test

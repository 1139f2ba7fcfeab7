// SPDX-License-Identifier: Apache-2.0
#include "driver/mysql/statement_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace holdfast::mysql {
namespace {

void append_value(std::string& out, const sql::value& one) {
    if (!one.is_text()) {
        fmt::format_to(std::back_inserter(out), "{}", one.number());
        return;
    }
    constexpr std::string_view digits = "0123456789abcdef";
    out += "X'";
    for (const char c : one.text()) {
        const auto byte = static_cast<unsigned char>(c);
        out += digits[byte >> 4U];
        out += digits[byte & 15U];
    }
    out += '\'';
}

}  // namespace

statement_text::statement_text(std::string_view text)
    : statements_(1 + static_cast<std::size_t>(std::ranges::count(text, ';'))) {
    std::string part;
    while (!text.empty()) {
        const std::size_t mark = std::min(text.find('?'), text.size());
        part.append(text.substr(0, mark));
        text.remove_prefix(mark);
        if (text.empty()) break;
        std::size_t number = 0;
        const auto [rest, problem] =
            std::from_chars(text.data() + 1, text.data() + text.size(), number);
        text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
        prepared_ += part + '?';
        parts_.push_back(std::exchange(part, {}));
        places_.push_back(number - 1);
    }
    prepared_ += part;
    parts_.push_back(std::move(part));
}

void statement_text::append_to(std::string& out, std::span<const sql::value> values) const {
    for (std::size_t i = 0; i < places_.size(); ++i) {
        out += parts_[i];
        append_value(out, values[places_[i]]);
    }
    out += parts_.back();
}

}  // namespace holdfast::mysql

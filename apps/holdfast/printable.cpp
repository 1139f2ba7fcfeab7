// SPDX-License-Identifier: Apache-2.0
#include "printable.hpp"

#include "core/utf8_text.hpp"

#include <holdfast/names.hpp>

#include <fmt/format.h>

namespace holdfast::app {
namespace {

bool turns_writing(char32_t character) {
    return (character >= 0x202A && character <= 0x202E) ||
           (character >= 0x2066 && character <= 0x2069) || character == 0x200E ||
           character == 0x200F || character == 0x061C;
}

bool is_obeyed(char32_t character) {
    const bool control = character < 0x20 || (character >= 0x7F && character <= 0x9F);
    const bool ends_a_line = character == 0x2028 || character == 0x2029;
    return control || ends_a_line || turns_writing(character);
}

std::string escaped(char32_t character) {
    switch (character) {
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return "\\t";
        default: break;
    }
    const auto number = static_cast<unsigned>(character);
    return character < 0x80 ? fmt::format("\\x{:02x}", number) : fmt::format("\\u{:04x}", number);
}

std::string shown(std::string_view text, std::string_view kept) {
    std::string out;
    while (!text.empty()) {
        const std::string_view rest = text;
        const char32_t character = detail::take_character(text);
        const std::string_view bytes = rest.substr(0, rest.size() - text.size());
        if (!is_utf8(bytes)) {
            for (const char c : bytes) {
                out +=
                    fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
            }
        } else if (is_obeyed(character) && !kept.contains(bytes)) {
            out += escaped(character);
        } else {
            out += bytes;
        }
    }
    return out;
}

}  // namespace

std::string printable(std::string_view text) {
    return shown(text, "");
}

std::string printable_lines(std::string_view text) {
    return shown(text, "\n\t");
}

}  // namespace holdfast::app

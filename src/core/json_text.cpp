// SPDX-License-Identifier: Apache-2.0
#include "core/json_text.hpp"

#include "core/utf8_text.hpp"

#include <holdfast/names.hpp>

namespace holdfast::detail {

std::string json_quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::string_view rest = text;
        const char32_t character = take_character(text);
        const std::string_view bytes = rest.substr(0, rest.size() - text.size());
        if (!is_utf8(bytes)) {
            for (std::size_t i = 0; i < bytes.size(); ++i) out += "\xEF\xBF\xBD";
        } else if (character < 0x20 || (character >= 0x7F && character <= 0x9F)) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(character));
        } else {
            if (character == '"' || character == '\\') out += '\\';
            out += bytes;
        }
    }
    out += "\"";
    return out;
}

}  // namespace holdfast::detail

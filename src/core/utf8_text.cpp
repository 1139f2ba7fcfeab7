// SPDX-License-Identifier: Apache-2.0
#include "core/utf8_text.hpp"

#include "core/require.hpp"

#include <cstddef>

namespace holdfast::detail {

char32_t take_character(std::string_view& text) {
    require(!text.empty(), "the text is not empty");
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned first = byte(0);
    const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    const auto follows = [&](std::size_t i) {
        return i < text.size() && (byte(i) & 0xC0U) == 0x80U;
    };
    char32_t code = length == 1 ? first : first & (0xFFU >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if (!follows(i)) {
            text.remove_prefix(1);
            return first;
        }
        code = code << 6U | (byte(i) & 0x3FU);
    }
    text.remove_prefix(length);
    return code;
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "net/base64.hpp"

#include <cstdint>

namespace holdfast::net {
namespace {

constexpr std::string_view plain_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_letters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

constexpr std::string_view letters_of(base64_alphabet alphabet) {
    return alphabet == base64_alphabet::plain ? plain_letters : url_letters;
}

}  // namespace

std::string to_base64(std::string_view bytes, base64_alphabet alphabet) {
    const std::string_view letters = letters_of(alphabet);
    std::string out;
    std::uint32_t bits = 0;
    int held = 0;
    for (const char c : bytes) {
        bits = (bits << 8) | static_cast<unsigned char>(c);
        held += 8;
        while (held >= 6) {
            held -= 6;
            out.push_back(letters[(bits >> held) & 63]);
        }
    }
    if (held > 0) out.push_back(letters[(bits << (6 - held)) & 63]);
    if (alphabet == base64_alphabet::plain) {
        while (out.size() % 4 != 0) out.push_back('=');
    }
    return out;
}

std::optional<std::string> from_base64(std::string_view text, base64_alphabet alphabet) {
    const std::string_view letters = letters_of(alphabet);
    const std::string_view given = text;
    while (alphabet == base64_alphabet::plain && text.ends_with('=')) text.remove_suffix(1);
    std::string out;
    std::uint32_t bits = 0;
    int held = 0;
    for (const char c : text) {
        const auto value = letters.find(c);
        if (value == std::string_view::npos) return std::nullopt;
        bits = (bits << 6) | static_cast<std::uint32_t>(value);
        held += 6;
        if (held < 8) continue;
        held -= 8;
        out.push_back(static_cast<char>((bits >> held) & 0xFF));
    }
    // Only one text stands for some bytes: left-over bits that are not zero would make a second.
    if (to_base64(out, alphabet) != given) return std::nullopt;
    return out;
}

}  // namespace holdfast::net

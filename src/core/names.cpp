// SPDX-License-Identifier: Apache-2.0
#include <holdfast/holder_note.hpp>
#include <holdfast/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast {
namespace {

// How many bytes the UTF-8 sequence at the front takes, or 0 if it is not one (overlong forms,
// surrogates and values past U+10FFFF are not).
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const auto tail = [&](std::size_t i) { return i < text.size() && (byte(i) & 0xC0) == 0x80; };
    const unsigned char first = byte(0);
    if (first < 0x80) return 1;
    if (first < 0xC2) return 0;
    if (first < 0xE0) return tail(1) ? 2 : 0;
    if (first < 0xF0) {
        if (!tail(1) || !tail(2)) return 0;
        if (first == 0xE0 && byte(1) < 0xA0) return 0;
        if (first == 0xED && byte(1) >= 0xA0) return 0;
        return 3;
    }
    if (first > 0xF4 || !tail(1) || !tail(2) || !tail(3)) return 0;
    if (first == 0xF0 && byte(1) < 0x90) return 0;
    if (first == 0xF4 && byte(1) >= 0x90) return 0;
    return 4;
}

template <std::size_t Bytes>
std::array<char, 2 * Bytes> random_digits(entropy& source) {
    std::array<std::byte, Bytes> bits{};
    source.fill(bits);
    std::array<char, 2 * Bytes> text;
    for (std::size_t i = 0; i < Bytes; ++i) {
        constexpr std::string_view digits = "0123456789abcdef";
        text[2 * i] = digits[std::to_integer<unsigned>(bits[i]) >> 4];
        text[2 * i + 1] = digits[std::to_integer<unsigned>(bits[i]) & 15];
    }
    return text;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

namespace {

// What is shown to people: not empty, not too long, UTF-8 without control characters.
result<void> fit_text(std::string_view what, std::string_view text, std::size_t most) {
    if (text.empty()) {
        return fail(errc::invalid_argument,
                    fmt::format("{} is empty: give it 1 to {} bytes", what, most));
    }
    if (text.size() > most) {
        return fail(errc::invalid_argument,
                    fmt::format("{} has {} bytes: at most {} are taken", what, text.size(), most));
    }
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        if (byte < 0x20 || byte == 0x7F) {
            return fail(errc::invalid_argument,
                        fmt::format("{} has the control character 0x{:02x} at byte {}: it takes "
                                    "text",
                                    what, byte, at));
        }
        const std::size_t length = utf8_length(text.substr(at));
        if (length == 0) {
            return fail(errc::invalid_argument,
                        fmt::format("{} is not UTF-8 at byte {}: it takes text", what, at));
        }
        at += length;
    }
    return {};
}

}  // namespace

result<void> fit_reason(std::string_view text) {
    return fit_text("reason", text, 200);
}

result<void> fit_note(std::string_view text) {
    return fit_text("note", text, holder_note::max_bytes);
}

result<lock_name> lock_name::make(std::string_view text) {
    if (auto fit = fit_text("name", text, max_bytes); !fit) return std::unexpected(fit.error());
    return lock_name(text);
}

client_id client_id::draw(entropy& source) {
    const auto digits = random_digits<6>(source);
    return client_id(std::string(digits.begin(), digits.end()));
}

owner_token owner_token::draw(entropy& source) {
    return owner_token({}, random_digits<16>(source));
}

owner_token owner_token::draw(entropy& source, const client_id& client) {
    return owner_token(client.value(), random_digits<10>(source));
}

result<owner_token> owner_token::parse(std::string_view text) {
    const auto is_hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    if (text.size() != size || !std::ranges::all_of(text, is_hex)) {
        return fail(errc::corrupt, "owner is not 32 hex digits");
    }
    return owner_token(text, {});
}

}  // namespace holdfast

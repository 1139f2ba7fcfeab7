// SPDX-License-Identifier: Apache-2.0
#include "core/hash_slot.hpp"

#include <array>
#include <cstdint>

namespace holdfast {
namespace {

// CRC-16/XMODEM, a byte at a time.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

unsigned crc16(std::string_view text) noexcept {
    unsigned crc = 0;
    for (const char c : text) {
        crc =
            ((crc << 8) ^ crc_table[((crc >> 8) ^ static_cast<unsigned char>(c)) & 0xFF]) & 0xFFFF;
    }
    return crc;
}

}  // namespace

std::string_view hash_tag(std::string_view key) noexcept {
    const std::size_t open = key.find('{');
    if (open == std::string_view::npos) return {};
    const std::size_t close = key.find('}', open + 1);
    if (close == std::string_view::npos) return {};
    return key.substr(open + 1, close - open - 1);
}

unsigned hash_slot(std::string_view key) noexcept {
    const std::string_view tag = hash_tag(key);
    return crc16(tag.empty() ? key : tag) % slot_count;
}

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "engine/redis/lease_keys.hpp"

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

// What is between the first '{' and the next '}', if that is anything.
std::string_view hash_tag(std::string_view key) noexcept {
    const std::size_t open = key.find('{');
    if (open == std::string_view::npos) return {};
    const std::size_t close = key.find('}', open + 1);
    if (close == std::string_view::npos) return {};
    return key.substr(open + 1, close - open - 1);
}

// A short text that hashes to the slot. About 16384 tries, and only for names with stray braces.
std::string tag_for(unsigned slot) {
    for (unsigned number = 0;; ++number) {
        std::string text = std::to_string(number);
        if (crc16(text) % 16384 == slot) return text;
    }
}

}  // namespace

unsigned hash_slot(std::string_view key) noexcept {
    const std::string_view tag = hash_tag(key);
    return crc16(tag.empty() ? key : tag) % 16384;
}

lease_keys keys_of(std::string_view prefix, const lock_name& name) {
    lease_keys keys;
    keys.lock.reserve(prefix.size() + name.value().size());
    keys.lock.append(prefix).append(name.value());
    // Appended, not added: one allocation each, on the way of every acquire.
    const auto beside = [&](std::string_view tag, std::string_view rest, std::string_view end) {
        std::string key;
        key.reserve(tag.size() + rest.size() + end.size() + 2);
        if (!tag.empty()) key.append("{").append(tag).append("}");
        return key.append(rest).append(end);
    };
    std::string tag;
    std::string_view rest;
    if (!hash_tag(keys.lock).empty()) {
        rest = keys.lock;
    } else if (keys.lock.find('}') == std::string::npos) {
        tag = keys.lock;
    } else {
        tag = tag_for(hash_slot(keys.lock));
        rest = keys.lock;
    }
    keys.line = beside(tag, rest, ":line");
    keys.waiters = beside(tag, rest, ":waiters");
    return keys;
}

}  // namespace holdfast

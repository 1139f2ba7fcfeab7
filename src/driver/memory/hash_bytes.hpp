// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

/// A fast keyed hash of bytes, for tables whose keys may come from strangers.
///
/// Multiply-and-fold in the manner of wyhash. The seed is drawn per engine, so that keys that
/// collide in one process cannot be prepared in another.
namespace holdfast::memory {

[[nodiscard]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) noexcept {
    __extension__ using wide = unsigned __int128;
    const wide product = static_cast<wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

[[nodiscard]] inline std::uint64_t hash_bytes(std::string_view text, std::uint64_t seed) noexcept {
    constexpr std::uint64_t odd_a = 0x9E3779B97F4A7C15U;
    constexpr std::uint64_t odd_b = 0xE7037ED1A0B428DBU;
    const char* at = text.data();
    std::size_t left = text.size();
    std::uint64_t state = seed ^ odd_a;
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    while (left > 16) {
        std::memcpy(&a, at, 8);
        std::memcpy(&b, at + 8, 8);
        state = fold(a ^ odd_b, b ^ state);
        at += 16;
        left -= 16;
    }
    a = b = 0;
    if (left >= 8) {
        std::memcpy(&a, at, 8);
        std::memcpy(&b, at + left - 8, 8);
    } else if (left >= 4) {
        std::uint32_t low = 0;
        std::uint32_t high = 0;
        std::memcpy(&low, at, 4);
        std::memcpy(&high, at + left - 4, 4);
        a = low;
        b = high;
    } else if (left > 0) {
        a = static_cast<unsigned char>(at[0]) |
            (static_cast<std::uint64_t>(static_cast<unsigned char>(at[left / 2])) << 8U) |
            (static_cast<std::uint64_t>(static_cast<unsigned char>(at[left - 1])) << 16U);
    }
    return fold(odd_b ^ text.size(), fold(a ^ odd_b, b ^ state));
}

}  // namespace holdfast::memory

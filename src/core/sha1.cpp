// SPDX-License-Identifier: Apache-2.0
#include "core/sha1.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace holdfast {
namespace {

constexpr std::size_t sha1_block_bytes = 64;

using sha1_state = std::array<std::uint32_t, 5>;
using sha1_block = std::array<unsigned char, sha1_block_bytes>;

// FIPS 180-4, section 6.1.2.
void add_block(sha1_state& state, const unsigned char* block) {
    std::array<std::uint32_t, 80> words{};
    for (std::size_t i = 0; i < 16; ++i) {
        for (std::size_t byte = 0; byte < 4; ++byte) {
            words[i] = words[i] << 8 | block[i * 4 + byte];
        }
    }
    for (std::size_t i = 16; i < words.size(); ++i) {
        words[i] = std::rotl(words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
    }
    auto [a, b, c, d, e] = state;
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::uint32_t mixed = b ^ c ^ d;
        std::uint32_t constant = i < 40 ? 0x6ed9eba1 : 0xca62c1d6;
        if (i < 20) {
            mixed = (b & c) | (~b & d);
            constant = 0x5a827999;
        } else if (i >= 40 && i < 60) {
            mixed = (b & c) | (b & d) | (c & d);
            constant = 0x8f1bbcdc;
        }
        const std::uint32_t next = std::rotl(a, 5) + mixed + e + constant + words[i];
        e = d;
        d = c;
        c = std::rotl(b, 30);
        b = a;
        a = next;
    }
    const sha1_state sum{a, b, c, d, e};
    for (std::size_t i = 0; i < state.size(); ++i) state[i] += sum[i];
}

// What is left of the text, a single bit, zeros, and the length of the whole in bits.
void add_end(sha1_state& state, std::string_view rest, std::uint64_t bytes) {
    sha1_block block{};
    for (std::size_t i = 0; i < rest.size(); ++i) block[i] = static_cast<unsigned char>(rest[i]);
    block[rest.size()] = 0x80;
    if (rest.size() + 1 + sizeof bytes > block.size()) {
        add_block(state, block.data());
        block = {};
    }
    for (std::size_t i = 0; i < sizeof bytes; ++i) {
        block[block.size() - 1 - i] = static_cast<unsigned char>(bytes * 8 >> (8 * i));
    }
    add_block(state, block.data());
}

}  // namespace

std::string sha1_hex(std::string_view text) {
    sha1_state state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    std::string_view rest = text;
    for (; rest.size() >= sha1_block_bytes; rest.remove_prefix(sha1_block_bytes)) {
        sha1_block block{};
        for (std::size_t i = 0; i < block.size(); ++i) {
            block[i] = static_cast<unsigned char>(rest[i]);
        }
        add_block(state, block.data());
    }
    add_end(state, rest, text.size());
    std::string out;
    for (const std::uint32_t word : state) {
        for (int shift = 28; shift >= 0; shift -= 4) {
            out += "0123456789abcdef"[word >> shift & 15U];
        }
    }
    return out;
}

}  // namespace holdfast

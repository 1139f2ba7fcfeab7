// SPDX-License-Identifier: Apache-2.0
//
// Strings as arrays of bits, the most significant bit of a byte first.
#include "driver/memory/call.hpp"
#include "driver/memory/command_table.hpp"

#include <bit>

namespace holdfast::memory {
namespace {

std::size_t bit_offset(const call& c) {
    constexpr std::string_view problem = "ERR bit offset is not an integer or out of range";
    const std::int64_t offset = c.integer(2, problem);
    if (offset < 0 || static_cast<std::uint64_t>(offset) >> 3U >= longest_string) {
        refuse(std::string(problem));
    }
    return static_cast<std::size_t>(offset);
}

unsigned shift_of(std::size_t offset) {
    return 7U - static_cast<unsigned>(offset & 7U);
}

void setbit(call& c) {
    const std::size_t offset = bit_offset(c);
    constexpr std::string_view problem = "ERR bit is not an integer or out of range";
    const std::int64_t on = c.integer(3, problem);
    if (on != 0 && on != 1) refuse(std::string(problem));
    std::string& text = c.make<std::string>(c.arg(1));
    const bool grew = text.size() <= offset >> 3U;
    if (grew) text.resize((offset >> 3U) + 1);
    auto byte = static_cast<unsigned char>(text[offset >> 3U]);
    const unsigned mask = 1U << shift_of(offset);
    const bool old = (byte & mask) != 0;
    byte = static_cast<unsigned char>(on != 0 ? byte | mask : byte & ~mask);
    text[offset >> 3U] = static_cast<char>(byte);
    if (grew || old != (on != 0)) c.db.modified(c.arg(1));
    c.out.integer(old ? 1 : 0);
}

void getbit(call& c) {
    const std::size_t offset = bit_offset(c);
    const std::string* text = c.look<std::string>(c.arg(1));
    if (text == nullptr || text->size() <= offset >> 3U) return c.out.integer(0);
    const auto byte = static_cast<unsigned char>((*text)[offset >> 3U]);
    c.out.integer((byte >> shift_of(offset)) & 1U);
}

std::int64_t count_bits(std::string_view bytes) {
    std::int64_t total = 0;
    for (const char b : bytes) total += std::popcount(static_cast<unsigned char>(b));
    return total;
}

void bitcount(call& c) {
    const std::string* text = c.look<std::string>(c.arg(1));
    if (text == nullptr) return c.out.integer(0);
    if (c.count() == 2) return c.out.integer(count_bits(*text));
    if (c.count() != 4 && c.count() != 5) refuse_syntax();
    const std::int64_t start = c.integer(2);
    std::int64_t stop = c.integer(3);
    // Redis looks at the ends before it looks at the unit.
    if (start < 0 && stop < 0 && start > stop) return c.out.integer(0);
    bool bits = false;
    if (c.count() == 5) {
        bits = c.is(4, "bit");
        if (!bits && !c.is(4, "byte")) refuse_syntax();
    }
    const std::size_t length = bits ? text->size() * 8 : text->size();
    if (stop < 0) stop = std::max<std::int64_t>(stop + static_cast<std::int64_t>(length), 0);
    const index_range r = resolve_range(start, stop, length);
    if (r.count == 0) return c.out.integer(0);
    if (!bits) {
        return c.out.integer(count_bits(std::string_view(*text).substr(r.first, r.count)));
    }
    const std::size_t last = r.first + r.count - 1;
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>((*text)[at >> 3U]); };
    std::int64_t total = count_bits(
        std::string_view(*text).substr(r.first >> 3U, (last >> 3U) - (r.first >> 3U) + 1));
    total -= std::popcount(byte(r.first) & ~(0xFFU >> (r.first & 7U)));
    total -= std::popcount(byte(last) & (0xFFU >> ((last & 7U) + 1)));
    c.out.integer(total);
}

constexpr command_spec bit_table[] = {
    {"setbit", 4, writes | grows, setbit},
    {"getbit", 3, reads | fast_path, getbit},
    {"bitcount", -2, reads, bitcount},
};

}  // namespace

std::span<const command_spec> bit_commands() {
    return bit_table;
}

}  // namespace holdfast::memory

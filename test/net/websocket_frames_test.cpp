// SPDX-License-Identifier: Apache-2.0
//
// WebSocket frames as bytes, in every piece that they can come in.
#include "net/websocket_frames.hpp"
#include "net/deflate.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::net {
namespace {

using kind = websocket_event::kind;

struct seen_event {
    kind type;
    std::string payload;
    close_code code;
};

// Feeds the bytes in pieces of that size.
std::vector<seen_event> read_all(websocket_reader& reader, std::string_view bytes,
                                 std::size_t piece = 1 << 20) {
    std::vector<seen_event> out;
    while (!bytes.empty()) {
        std::string_view part = bytes.substr(0, piece);
        bytes.remove_prefix(part.size());
        while (const auto event = reader.next(part)) {
            out.push_back({event->type, std::string(event->payload), event->code});
        }
    }
    return out;
}

std::vector<seen_event> read_as_server(std::string_view bytes, websocket_limits limits = {},
                                       compression how = compression::none) {
    websocket_reader reader(websocket_role::server, limits, how);
    return read_all(reader, bytes);
}

// A masked frame with any first byte.
std::string raw_frame(unsigned first, std::string_view payload) {
    std::string out = encode_masked_frame(opcode::text, payload, 0x01020304);
    out[0] = static_cast<char>(first);
    return out;
}

TEST(websocket_frames, a_message_is_read_whole_however_it_is_cut) {
    std::string bytes;
    for (const std::size_t size : {0, 1, 125, 126, 127, 65535, 65536}) {
        bytes += encode_masked_frame(opcode::text, std::string(size, 'x'), 0xA1B2C3D4);
    }
    bytes += encode_masked_frame(opcode::ping, "are you there", 5);
    for (const std::size_t piece : {1U, 2U, 3U, 7U, 1000U, 1U << 20}) {
        websocket_reader reader(websocket_role::server, {.message_bytes = 1 << 20});
        const auto seen = read_all(reader, bytes, piece);
        ASSERT_EQ(seen.size(), 8U) << piece;
        EXPECT_EQ(seen[5].payload, std::string(65535, 'x'));
        EXPECT_EQ(seen[6].payload, std::string(65536, 'x'));
        EXPECT_EQ(seen[7].type, kind::ping);
        EXPECT_EQ(seen[7].payload, "are you there");
        EXPECT_FALSE(reader.in_message());
    }
}

TEST(websocket_frames, what_a_server_writes_a_client_reads) {
    websocket_reader reader(websocket_role::client);
    const auto seen = read_all(reader, encode_frame(opcode::text, "hello"));
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].payload, "hello");
}

TEST(websocket_frames, fragments_become_one_message_and_control_frames_may_stand_between) {
    const auto seen =
        read_as_server(raw_frame(0x01, "one ") + encode_masked_frame(opcode::ping, "p", 9) +
                       raw_frame(0x00, "two ") + raw_frame(0x80, "three"));
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0].type, kind::ping);
    EXPECT_EQ(seen[1].payload, "one two three");
}

TEST(websocket_frames, what_breaks_the_protocol_is_a_violation_and_the_last_event) {
    const struct {
        const char* why;
        std::string bytes;
        close_code code;
    } cases[] = {
        {"not masked", encode_frame(opcode::text, "x"), close_code::protocol_error},
        {"reserved bit", raw_frame(0x91, "x"), close_code::protocol_error},
        {"compressed without agreement", raw_frame(0xC1, "x"), close_code::protocol_error},
        {"unknown opcode", raw_frame(0x83, "x"), close_code::protocol_error},
        {"unknown control opcode", raw_frame(0x8B, "x"), close_code::protocol_error},
        {"fragment of nothing", raw_frame(0x80, "x"), close_code::protocol_error},
        {"message in a message", raw_frame(0x01, "x") + raw_frame(0x81, "y"),
         close_code::protocol_error},
        {"control frame in fragments", raw_frame(0x09, "x"), close_code::protocol_error},
        {"control frame too long", raw_frame(0x89, std::string(126, 'x')),
         close_code::protocol_error},
        {"length not the shortest", std::string("\x81\xFE\x00\x01zzzz", 8) + "a",
         close_code::protocol_error},
        {"no UTF-8", raw_frame(0x81, "\xFF\xFE"), close_code::bad_text},
        {"half a close code", raw_frame(0x88, "x"), close_code::protocol_error},
        {"close code that may not be sent", raw_frame(0x88, std::string("\x03\xED", 2)),
         close_code::protocol_error},
        {"too large", std::string("\x81\xFF\x00\x00\x00\x01\x00\x00\x00\x00zzzz", 14),
         close_code::too_large},
        {"2^63 bytes", std::string("\x81\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFFzzzz", 14),
         close_code::too_large},
    };
    for (const auto& one : cases) {
        const auto seen = read_as_server(one.bytes + encode_masked_frame(opcode::text, "more", 1));
        ASSERT_EQ(seen.size(), 1U) << one.why;
        EXPECT_EQ(seen[0].type, kind::violation) << one.why;
        EXPECT_EQ(seen[0].code, one.code) << one.why;
    }
}

TEST(websocket_frames, a_message_of_too_many_or_too_large_fragments_is_refused) {
    std::string many = raw_frame(0x01, "x");
    for (int i = 0; i < 10; ++i) many += raw_frame(0x00, "x");
    EXPECT_EQ(read_as_server(many, {.fragments = 5}).back().code, close_code::policy);
    EXPECT_EQ(read_as_server(many, {.message_bytes = 5}).back().code, close_code::too_large);
}

TEST(websocket_frames, a_close_frame_says_why) {
    const auto seen = read_as_server(
        encode_masked_frame(opcode::close, close_payload(close_code::going_away, "bye"), 3));
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].type, kind::close);
    EXPECT_EQ(seen[0].code, close_code::going_away);
    EXPECT_EQ(seen[0].payload, "bye");
    EXPECT_EQ(close_payload(close_code::normal, std::string(200, 'x')).size(), 125U);
}

TEST(websocket_frames, a_compressed_message_is_the_same_for_all_and_comes_back) {
    std::string plain;
    for (int i = 0; i < 200; ++i) plain += "{\"offset\":" + std::to_string(i) + "}";
    const std::string packed = deflate_message(plain);
    EXPECT_LT(packed.size(), plain.size() / 2);
    EXPECT_EQ(packed, deflate_message(plain)) << "nothing of the first may be in the second";
    EXPECT_EQ(inflate_message(packed, plain.size()), plain);
    EXPECT_EQ(inflate_message(deflate_message(""), 10), "");
    const auto seen = read_as_server(raw_frame(0xC1, packed), {}, compression::deflated);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].payload, plain);
}

TEST(websocket_frames, a_few_bytes_do_not_unpack_to_many) {
    const std::string bomb = deflate_message(std::string(10 << 20, 'x'));
    ASSERT_LT(bomb.size(), 64U << 10);
    EXPECT_EQ(inflate_message(bomb, 64 << 10), std::nullopt);
    const auto seen =
        read_as_server(raw_frame(0xC1, bomb.substr(0, 60'000)), {}, compression::deflated);
    ASSERT_EQ(seen.size(), 1U);
    EXPECT_EQ(seen[0].type, kind::violation);
    EXPECT_EQ(inflate_message("\xFF\xFF\xFF", 100), std::nullopt);
}

}  // namespace
}  // namespace holdfast::net

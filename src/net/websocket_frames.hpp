// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// WebSocket frames (RFC 6455) as bytes, without a socket: the session feeds the reader, and so do
/// the load generator and the fuzzer.
///
/// It is written here, and not taken from Beast, for what a broadcast needs: a server's frames are
/// not masked, so the bytes of one frame, header and compression included, are the same for all
/// viewers. They are made once and shared, and several frames go out with one system call.
namespace holdfast::net {

enum class opcode : std::uint8_t {
    continuation = 0,
    text = 1,
    binary = 2,
    close = 8,
    ping = 9,
    pong = 10
};

/// Why a connection is closed. 4000 and above are ours.
enum class close_code : std::uint16_t {
    normal = 1000,
    going_away = 1001,
    protocol_error = 1002,
    unsupported_data = 1003,
    not_said = 1005,
    bad_text = 1007,
    policy = 1008,
    too_large = 1009,
    try_again_later = 1013,
    slow = 4008,
    drained = 4012,
    silent = 4013
};

enum class compression : bool { none, deflated };

/// The bytes of one unmasked frame that is a whole message.
[[nodiscard]] std::string encode_frame(opcode what, std::string_view payload,
                                       compression how = compression::none);

/// Only its header; returns its size.
std::size_t put_frame_header(std::array<char, 10>& out, opcode what, std::size_t length,
                             compression how = compression::none) noexcept;

/// The same as a client must send it.
[[nodiscard]] std::string encode_masked_frame(opcode what, std::string_view payload,
                                              std::uint32_t mask);

/// The payload of a close frame. A reason longer than 123 bytes is cut.
[[nodiscard]] std::string close_payload(close_code code, std::string_view reason);

struct websocket_event {
    enum class kind : std::uint8_t { text, binary, ping, pong, close, violation };
    kind type;
    /// The message, or what is wrong. Valid until the next call.
    std::string_view payload;
    /// For close, what the other end said; for a violation, what to close with.
    close_code code = close_code::normal;
};

enum class websocket_role : bool { server, client };

struct websocket_limits {
    std::size_t message_bytes = 64 * 1024;
    /// How many fragments a message may come in.
    std::size_t fragments = 64;
};

class websocket_reader {
public:
    /// A server takes only masked frames, a client only others. With `deflated`, a message may be
    /// compressed by itself (permessage-deflate without context takeover).
    explicit websocket_reader(websocket_role role, websocket_limits limits = {},
                              compression how = compression::none)
        : limits_(limits), role_(role), compression_(how) {}

    /// The next event of `bytes`, which loses what was read; nothing when all of it was read.
    /// After a violation or a close there is nothing more.
    [[nodiscard]] std::optional<websocket_event> next(std::string_view& bytes);

    /// Is a frame or a message half read?
    [[nodiscard]] bool in_message() const noexcept {
        return held_ > 0 || in_payload_ || in_fragments_;
    }

private:
    std::optional<websocket_event> read_header(std::string_view& bytes);
    [[nodiscard]] std::string_view objection() const noexcept;
    std::optional<websocket_event> finish_frame();
    std::optional<websocket_event> finish_message();
    websocket_event finish_close();
    websocket_event violation(close_code code, std::string_view why);

    websocket_limits limits_;
    websocket_role role_;
    compression compression_;

    std::array<std::uint8_t, 14> header_{};
    std::size_t held_ = 0;  // bytes of the header
    bool in_payload_ = false;
    bool in_fragments_ = false;
    bool compressed_ = false;
    bool ended_ = false;
    opcode message_type_ = opcode::text;
    std::size_t fragments_ = 0;

    // The frame at hand.
    opcode frame_type_ = opcode::text;
    bool final_ = true;
    std::uint64_t length_ = 0;
    std::uint64_t taken_ = 0;
    std::array<std::uint8_t, 4> mask_{};

    std::string control_;
    std::string message_;
    std::string unpacked_;
};

}  // namespace holdfast::net

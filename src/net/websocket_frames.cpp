// SPDX-License-Identifier: Apache-2.0
#include "net/websocket_frames.hpp"

#include "net/deflate.hpp"

#include <holdfast/names.hpp>

#include <algorithm>

namespace holdfast::net {
namespace {

constexpr std::size_t control_bytes = 125;

constexpr bool is_control(opcode what) noexcept {
    return static_cast<std::uint8_t>(what) >= 8;
}

constexpr bool is_known(std::uint8_t what) noexcept {
    return what <= 2 || (what >= 8 && what <= 10);
}

// What an endpoint may put into a close frame (RFC 6455, 7.4).
constexpr bool may_be_sent(unsigned code) noexcept {
    return (code >= 1000 && code <= 1014 && code != 1004 && code != 1005 && code != 1006) ||
           (code >= 3000 && code <= 4999);
}

}  // namespace

std::size_t put_frame_header(std::array<char, 10>& out, opcode what, std::size_t length,
                             compression how) noexcept {
    std::size_t size = 0;
    const auto put = [&out, &size](std::uint64_t number, int bytes) {
        for (int i = bytes - 1; i >= 0; --i) out[size++] = static_cast<char>(number >> (8 * i));
    };
    put(0x80U | static_cast<std::uint8_t>(what) | (how == compression::deflated ? 0x40U : 0U), 1);
    if (length < 126) {
        put(length, 1);
    } else if (length <= 0xFFFF) {
        put(126, 1);
        put(length, 2);
    } else {
        put(127, 1);
        put(length, 8);
    }
    return size;
}

std::string encode_frame(opcode what, std::string_view payload, compression how) {
    std::array<char, 10> header{};
    const std::size_t size = put_frame_header(header, what, payload.size(), how);
    std::string out;
    out.reserve(payload.size() + size);
    out.append(header.data(), size);
    out += payload;
    return out;
}

std::string encode_masked_frame(opcode what, std::string_view payload, std::uint32_t mask) {
    std::array<char, 10> header{};
    const std::size_t size = put_frame_header(header, what, payload.size());
    header[1] = static_cast<char>(header[1] | static_cast<char>(0x80));
    std::string out(header.data(), size);
    out.reserve(size + 4 + payload.size());
    std::array<char, 4> key{};
    for (std::size_t i = 0; i < 4; ++i) key[i] = static_cast<char>(mask >> (24 - 8 * i));
    out.append(key.data(), key.size());
    for (std::size_t i = 0; i < payload.size(); ++i) {
        out.push_back(static_cast<char>(payload[i] ^ key[i % 4]));
    }
    return out;
}

std::string close_payload(close_code code, std::string_view reason) {
    const auto number = static_cast<std::uint16_t>(code);
    std::string out{static_cast<char>(number >> 8), static_cast<char>(number & 0xFF)};
    return out += reason.substr(0, control_bytes - 2);
}

websocket_event websocket_reader::violation(close_code code, std::string_view why) {
    ended_ = true;
    return {websocket_event::kind::violation, why, code};
}

// Why the frame whose header was read may not be; empty if it may.
std::string_view websocket_reader::objection() const noexcept {
    const bool masked = (header_[1] & 0x80U) != 0;
    if (masked != (role_ == websocket_role::server)) return "a frame is masked the wrong way";
    if ((header_[0] & 0x30U) != 0) return "a reserved bit is set";
    if (!is_known(header_[0] & 0x0FU)) return "an unknown opcode";
    const bool packed = (header_[0] & 0x40U) != 0;
    if (packed && (compression_ == compression::none || is_control(frame_type_) ||
                   frame_type_ == opcode::continuation)) {
        return "a compressed frame that may not be";
    }
    if (is_control(frame_type_)) {
        if (!final_) return "a control frame in fragments";
        if (length_ > control_bytes) return "a control frame that is too long";
        return {};
    }
    if ((frame_type_ == opcode::continuation) != in_fragments_) return "a fragment out of place";
    const unsigned said = header_[1] & 0x7FU;
    if ((said == 126 && length_ < 126) || (said == 127 && length_ <= 0xFFFF)) {
        return "a length that is not the shortest";
    }
    return {};
}

std::optional<websocket_event> websocket_reader::read_header(std::string_view& bytes) {
    const auto need = [this]() -> std::size_t {
        if (held_ < 2) return 2;
        const unsigned said = header_[1] & 0x7FU;
        const std::size_t extended = said == 126 ? 2 : said == 127 ? 8 : 0;
        return 2 + extended + ((header_[1] & 0x80U) != 0 ? 4 : 0);
    };
    while (held_ < need()) {
        if (bytes.empty()) return std::nullopt;
        header_[held_++] = static_cast<std::uint8_t>(bytes.front());
        bytes.remove_prefix(1);
    }
    const unsigned said = header_[1] & 0x7FU;
    std::size_t at = 2;
    length_ = said;
    if (said >= 126) {
        length_ = 0;
        for (const std::size_t end = said == 126 ? 4 : 10; at < end; ++at) {
            length_ = length_ << 8 | header_[at];
        }
    }
    if ((header_[1] & 0x80U) != 0) std::copy_n(header_.begin() + at, 4, mask_.begin());
    final_ = (header_[0] & 0x80U) != 0;
    frame_type_ = static_cast<opcode>(header_[0] & 0x0FU);
    held_ = 0;
    if (const auto why = objection(); !why.empty()) {
        return violation(close_code::protocol_error, why);
    }
    if (!is_control(frame_type_)) {
        if (frame_type_ != opcode::continuation) {
            message_.clear();
            message_type_ = frame_type_;
            compressed_ = (header_[0] & 0x40U) != 0;
            fragments_ = 0;
        }
        // Compared this way round, so that no sum can be too large for its type.
        if (length_ > limits_.message_bytes ||
            message_.size() > limits_.message_bytes - static_cast<std::size_t>(length_)) {
            return violation(close_code::too_large, "a message that is too large");
        }
        if (++fragments_ > limits_.fragments) {
            return violation(close_code::policy, "a message in too many fragments");
        }
    } else {
        control_.clear();
    }
    taken_ = 0;
    in_payload_ = true;
    return std::nullopt;
}

std::optional<websocket_event> websocket_reader::next(std::string_view& bytes) {
    while (!ended_) {
        if (!in_payload_) {
            if (bytes.empty()) break;
            if (auto wrong = read_header(bytes)) return wrong;
            if (!in_payload_) break;
        }
        std::string& into = is_control(frame_type_) ? control_ : message_;
        const auto part =
            static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), length_ - taken_));
        const std::size_t before = into.size();
        into.append(bytes.substr(0, part));
        if (role_ == websocket_role::server) {
            for (std::size_t i = 0; i < part; ++i) {
                into[before + i] = static_cast<char>(into[before + i] ^
                                                     static_cast<char>(mask_[(taken_ + i) % 4]));
            }
        }
        taken_ += part;
        bytes.remove_prefix(part);
        if (taken_ < length_) break;
        in_payload_ = false;
        if (auto event = finish_frame()) return event;
    }
    return std::nullopt;
}

std::optional<websocket_event> websocket_reader::finish_frame() {
    switch (frame_type_) {
        case opcode::ping: return websocket_event{websocket_event::kind::ping, control_};
        case opcode::pong: return websocket_event{websocket_event::kind::pong, control_};
        case opcode::close: return finish_close();
        default: break;
    }
    in_fragments_ = !final_;
    if (!final_) return std::nullopt;
    return finish_message();
}

std::optional<websocket_event> websocket_reader::finish_message() {
    std::string_view whole = message_;
    if (compressed_) {
        auto plain = inflate_message(message_, limits_.message_bytes);
        if (!plain) return violation(close_code::too_large, "a compressed message that is wrong");
        unpacked_ = std::move(*plain);
        whole = unpacked_;
    }
    if (message_type_ == opcode::binary) {
        return websocket_event{websocket_event::kind::binary, whole};
    }
    if (!is_utf8(whole)) return violation(close_code::bad_text, "a text that is not UTF-8");
    return websocket_event{websocket_event::kind::text, whole};
}

websocket_event websocket_reader::finish_close() {
    if (control_.empty()) {
        ended_ = true;
        return {websocket_event::kind::close, {}, close_code::not_said};
    }
    if (control_.size() == 1) return violation(close_code::protocol_error, "half a close code");
    const unsigned code = static_cast<unsigned>(static_cast<unsigned char>(control_[0])) << 8 |
                          static_cast<unsigned char>(control_[1]);
    if (!may_be_sent(code)) return violation(close_code::protocol_error, "no such close code");
    const std::string_view reason = std::string_view(control_).substr(2);
    if (!is_utf8(reason)) return violation(close_code::bad_text, "a reason that is not UTF-8");
    ended_ = true;
    return {websocket_event::kind::close, reason, static_cast<close_code>(code)};
}

}  // namespace holdfast::net

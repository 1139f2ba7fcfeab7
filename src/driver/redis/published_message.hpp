// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>

#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

namespace holdfast::redis {

/// What somebody published, where it was read.
struct published {
    channel_scope scope = channel_scope::global;
    std::string_view channel;
    std::string_view text;
};

/// Takes a text, as a server writes it ("$5\r\nhello\r\n"), off the front of `bytes`.
inline std::optional<std::string_view> take_text(std::string_view& bytes) {
    constexpr std::string_view line_end = "\r\n";
    if (!bytes.starts_with('$')) return std::nullopt;
    bytes.remove_prefix(1);
    std::size_t size = 0;
    const auto [after, wrong] = std::from_chars(bytes.data(), bytes.data() + bytes.size(), size);
    if (wrong != std::errc{}) return std::nullopt;
    const auto digits = static_cast<std::size_t>(after - bytes.data());
    if (digits > 1 && bytes.starts_with('0')) return std::nullopt;  // no server writes it so
    bytes.remove_prefix(digits);
    if (!bytes.starts_with(line_end)) return std::nullopt;
    bytes.remove_prefix(line_end.size());
    if (size > bytes.size() || !bytes.substr(size).starts_with(line_end)) return std::nullopt;
    const std::string_view text = bytes.substr(0, size);
    bytes.remove_prefix(size + line_end.size());
    return text;
}

/// If `bytes` are one published message, whole, and nothing else: that. Mostly they are; and who is
/// woken by it has slept, and fetches every line of code anew that it runs before it has the name.
/// By a reply_reader, which knows every reply, that would be a third more.
inline std::optional<published> lone_message(std::string_view bytes) {
    constexpr std::string_view global = "*3\r\n$7\r\nmessage\r\n";
    constexpr std::string_view sharded = "*3\r\n$8\r\nsmessage\r\n";
    published out;
    if (bytes.starts_with(global)) {
        bytes.remove_prefix(global.size());
    } else if (bytes.starts_with(sharded)) {
        out.scope = channel_scope::sharded;
        bytes.remove_prefix(sharded.size());
    } else {
        return std::nullopt;
    }
    const auto channel = take_text(bytes);
    if (!channel) return std::nullopt;
    const auto text = take_text(bytes);
    if (!text || !bytes.empty()) return std::nullopt;
    out.channel = *channel;
    out.text = *text;
    return out;
}

}  // namespace holdfast::redis

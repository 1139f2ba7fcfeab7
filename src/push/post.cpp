// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/post.hpp>

#include "core/sha1.hpp"

#include <holdfast/names.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace holdfast::push {
namespace {

constexpr std::array reason_words{std::string_view("room_missing"),
                                  std::string_view("room_too_long"),
                                  std::string_view("room_characters"),
                                  std::string_view("user_too_long"),
                                  std::string_view("user_characters"),
                                  std::string_view("user_name_too_long"),
                                  std::string_view("user_name_characters"),
                                  std::string_view("messages_missing"),
                                  std::string_view("too_many_messages"),
                                  std::string_view("content_missing"),
                                  std::string_view("content_too_long"),
                                  std::string_view("content_characters"),
                                  std::string_view("id_missing"),
                                  std::string_view("id_too_long"),
                                  std::string_view("id_characters"),
                                  std::string_view("queue_full"),
                                  std::string_view("engine")};

bool is_control(char c) noexcept {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

bool is_line(std::string_view text) noexcept {
    return is_utf8(text) && std::ranges::none_of(text, is_control);
}

bool fits_room(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '@' || static_cast<unsigned char>(c) >= 0x80;
}

refusal too_long(refusal_reason reason, std::string field, std::size_t has, std::size_t most) {
    return {.reason = reason,
            .field = std::move(field),
            .detail = fmt::format("{} bytes: at most {} are taken", has, most)};
}

std::optional<refusal> find_user_fault(const post& p, const size_limits& sizes) {
    const std::string user = to_text(p.user);
    if (user.size() > sizes.user) {
        return too_long(refusal_reason::user_too_long, "userId", user.size(), sizes.user);
    }
    if (!is_line(user)) {
        return refusal{.reason = refusal_reason::user_characters,
                       .field = "userId",
                       .detail = "not UTF-8 text without control characters"};
    }
    if (p.user_name.size() > sizes.user_name) {
        return too_long(refusal_reason::user_name_too_long, "userName", p.user_name.size(),
                        sizes.user_name);
    }
    if (is_line(p.user_name)) return {};
    return refusal{.reason = refusal_reason::user_name_characters,
                   .field = "userName",
                   .detail = "not UTF-8 text without control characters"};
}

std::optional<refusal> find_id_fault(const message& m, const std::string& field, const settings& s,
                                     bool required) {
    if (!m.id || m.id->empty()) {
        if (!required) return {};
        return refusal{.reason = refusal_reason::id_missing,
                       .field = field,
                       .detail = "this room takes messages with an id only"};
    }
    if (m.id->size() > s.sizes.message_id) {
        return too_long(refusal_reason::id_too_long, field, m.id->size(), s.sizes.message_id);
    }
    if (is_line(*m.id)) return {};
    return refusal{.reason = refusal_reason::id_characters,
                   .field = field,
                   .detail = "not UTF-8 text without control characters"};
}

std::optional<refusal> find_message_fault(const message& m, std::size_t index, const settings& s,
                                          bool id_required) {
    const std::string field = fmt::format("messages/{}/content", index);
    if (m.content.empty()) {
        return refusal{.reason = refusal_reason::content_missing,
                       .field = field,
                       .detail = "a message has some content"};
    }
    if (m.content.size() > s.sizes.content) {
        return too_long(refusal_reason::content_too_long, field, m.content.size(), s.sizes.content);
    }
    if (!is_utf8(m.content)) {
        return refusal{.reason = refusal_reason::content_characters,
                       .field = field,
                       .detail = "not UTF-8 text"};
    }
    return find_id_fault(m, fmt::format("messages/{}/messageId", index), s, id_required);
}

}  // namespace

std::string to_text(const user_id& user) {
    if (const auto* number = std::get_if<std::int64_t>(&user)) return std::to_string(*number);
    return std::get<std::string>(user);
}

std::string_view to_string(refusal_reason reason) noexcept {
    return reason_words[static_cast<std::size_t>(reason)];
}

std::optional<refusal> find_room_fault(std::string_view room, const settings& s) {
    if (room.empty()) {
        return refusal{
            .reason = refusal_reason::room_missing, .field = "roomId", .detail = "say which room"};
    }
    if (room.size() > s.sizes.room) {
        return too_long(refusal_reason::room_too_long, "roomId", room.size(), s.sizes.room);
    }
    if (is_utf8(room) && std::ranges::all_of(room, fits_room)) return {};
    return refusal{.reason = refusal_reason::room_characters,
                   .field = "roomId",
                   .detail = "a room's name is letters, digits and . _ - @, or other UTF-8 text"};
}

std::optional<refusal> find_fault(const post& p, const settings& s) {
    if (auto fault = find_room_fault(p.room, s)) return fault;
    if (auto fault = find_user_fault(p, s.sizes)) return fault;
    if (p.messages.empty()) {
        return refusal{.reason = refusal_reason::messages_missing,
                       .field = "messages",
                       .detail = "a post has at least one message"};
    }
    if (p.messages.size() > s.sizes.messages) {
        return refusal{.reason = refusal_reason::too_many_messages,
                       .field = "messages",
                       .detail = fmt::format("{} messages: at most {} are taken", p.messages.size(),
                                             s.sizes.messages)};
    }
    const bool id_required = policy_of(s, p.room).require_ids;
    for (std::size_t i = 0; i < p.messages.size(); ++i) {
        if (auto fault = find_message_fault(p.messages[i], i, s, id_required)) return fault;
    }
    return {};
}

std::string id_of(const post& p, const message& m) {
    if (m.id && !m.id->empty()) return *m.id;
    const std::string user = to_text(p.user);
    // Lengths in front, so that no two different triples make one text.
    const std::string whole =
        fmt::format("{}:{}:{}:{}{}{}", p.room.size(), user.size(),
                    std::holds_alternative<std::string>(p.user), p.room, user, m.content);
    return "c-" + sha1_hex(whole).substr(0, 32);
}

}  // namespace holdfast::push

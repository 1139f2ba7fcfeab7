// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/push/settings.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// What a sender sends, and what it is answered.
namespace holdfast::push {

/// Who may be dropped first when a viewer is slow.
enum class message_class : std::uint8_t {
    low,       ///< Shed first.
    normal,    ///< Shed before the connection is closed.
    important  ///< Never dropped, in no mode, and never shed.
};

/// As JSON has it: a number stays a number in frames.
using user_id = std::variant<std::int64_t, std::string>;
[[nodiscard]] std::string to_text(const user_id& user);

struct message {
    std::string content;
    /// The sender's id; without one it is derived from room, user and content.
    std::optional<std::string> id = {};
    message_class kind = message_class::normal;
};

/// One request: messages of one user to one room.
struct post {
    std::string room;
    user_id user = std::int64_t{0};
    std::string user_name = {};
    std::vector<message> messages = {};
};

/// Why a post is refused. Nothing of it was stored then. The words of to_string() are stable: use
/// them as the `type` of a problem document.
enum class refusal_reason : std::uint8_t {
    room_missing,
    room_too_long,
    room_characters,  ///< A room is letters, digits and . _ - @, or other UTF-8 text.
    user_too_long,
    user_characters,
    user_name_too_long,
    user_name_characters,
    messages_missing,
    too_many_messages,
    content_missing,
    content_too_long,
    content_characters,  ///< Not UTF-8.
    id_missing,          ///< The room requires ids.
    id_too_long,
    id_characters,
    queue_full,  ///< Consumers do not keep up: try later. The only one that is not the sender's.
    engine       ///< The engine failed: see `cause`.
};

/// `room_too_long`
[[nodiscard]] std::string_view to_string(refusal_reason reason) noexcept;

struct refusal {
    refusal_reason reason = refusal_reason::engine;
    /// The JSON field: `roomId`, `messages/3/content`. Empty for queue_full and engine.
    std::string field = {};
    /// One sentence for a person.
    std::string detail = {};
    /// The engine's error, for reason `engine`.
    std::optional<errc> cause = {};
};

/// One message of a post that was taken.
struct admitted {
    std::string id;
    std::uint64_t offset = 0;  ///< The original's, for a duplicate; 0 if that is forgotten.
    bool duplicate = false;
};

struct receipt {
    std::string room;
    std::string epoch;
    std::vector<admitted> messages;
    /// How long the room's cooldown still runs: zero if the post goes at once.
    duration due_in = duration::zero();
};

using send_result = std::expected<receipt, refusal>;

/// What is wrong with a post before it is sent; nothing if it is fine. Pure.
[[nodiscard]] std::optional<refusal> find_fault(const post& p, const settings& s);

/// Is it a name that a room may have? Pure; for URLs and joins.
[[nodiscard]] std::optional<refusal> find_room_fault(std::string_view room, const settings& s);

/// The id that a message has: its own, or `c-` and 32 hex digits of room, user and content.
[[nodiscard]] std::string id_of(const post& p, const message& m);

}  // namespace holdfast::push

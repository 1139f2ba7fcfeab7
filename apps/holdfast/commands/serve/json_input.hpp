// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/push/frame.hpp>
#include <holdfast/push/post.hpp>

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

/// JSON from outside, read into values: the body of POST /logic/send, and what a viewer says.
///
/// Types are exact: "123" is no number, 1.5 no user. Fields that nobody knows are passed over, so
/// that a newer sender can talk to an older server.
namespace holdfast::app {

struct input_fault {
    /// A stable word: `bad_json`, `wrong_type`, `missing_field`.
    std::string reason;
    std::string detail;
};

/// Only the form; what a room or a content may be is push::find_fault()'s.
[[nodiscard]] std::expected<push::post, input_fault> parse_post(std::string_view body);

struct token_request {
    std::string user;
    std::string room;
    std::int64_t seconds = 3600;
};

/// {"userId":123,"roomId":"video_123","seconds":600}; the last two may be left out.
[[nodiscard]] std::expected<token_request, input_fault> parse_token_request(std::string_view body);

/// What an operator does to a lock or a room, and why.
struct intervention {
    std::string target;
    std::string reason;
};

/// {"lock":"broadcast:video_123","reason":"..."}; `field` is the target's name. The reason is one
/// line of 1 to 200 bytes.
[[nodiscard]] std::expected<intervention, input_fault> parse_intervention(std::string_view body,
                                                                          const char* field);

struct join_room {
    std::string room;
    std::optional<push::position> resume;
};
struct leave_room {
    std::string room;
};
struct ping_server {};

using viewer_message = std::variant<join_room, leave_room, ping_server>;

/// {"type":"join","room":R,"epoch":E,"offset":N}, {"type":"leave","room":R}, {"type":"ping"}
[[nodiscard]] std::expected<viewer_message, input_fault> parse_viewer_message(
    std::string_view text);

}  // namespace holdfast::app

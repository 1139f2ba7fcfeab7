// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/json_input.hpp"

#include <boost/json.hpp>
#include <boost/json/src.hpp>  // compiled here, once
#include <fmt/format.h>

namespace holdfast::app {
namespace {

namespace json = boost::json;
using std::unexpected;

// A post is an object with an array of objects; more is an attack on the stack.
constexpr std::size_t deepest = 8;

unexpected<input_fault> wrong_type(std::string_view field, std::string_view wanted) {
    return unexpected(input_fault{"wrong_type", fmt::format("{} must be {}", field, wanted)});
}

unexpected<input_fault> missing(std::string_view field) {
    return unexpected(input_fault{"missing_field", fmt::format("{} is missing", field)});
}

std::expected<json::value, input_fault> parse_object(std::string_view text) {
    json::parse_options options;
    options.max_depth = deepest;
    boost::system::error_code failed;
    json::value read = json::parse({text.data(), text.size()}, failed, {}, options);
    if (failed == json::error::too_deep) {
        return unexpected(
            input_fault{"too_deep", fmt::format("JSON may be nested {} deep", deepest)});
    }
    if (failed) return unexpected(input_fault{"bad_json", failed.message()});
    if (!read.is_object()) return wrong_type("the body", "an object");
    return read;
}

std::string text_of(const json::string& text) {
    return {text.data(), text.size()};
}

std::expected<std::string, input_fault> required_text(const json::object& from, const char* field) {
    const json::value* const value = from.if_contains(field);
    if (value == nullptr) return missing(field);
    if (!value->is_string()) return wrong_type(field, "a string");
    return text_of(value->get_string());
}

std::expected<std::optional<std::string>, input_fault> optional_text(const json::object& from,
                                                                     const char* field,
                                                                     std::string_view shown) {
    const json::value* const value = from.if_contains(field);
    if (value == nullptr || value->is_null()) return std::nullopt;
    if (!value->is_string()) return wrong_type(shown, "a string");
    return text_of(value->get_string());
}

std::expected<push::user_id, input_fault> required_user(const json::object& from) {
    const json::value* const value = from.if_contains("userId");
    if (value == nullptr) return missing("userId");
    if (value->is_string()) return text_of(value->get_string());
    if (value->is_int64()) return value->get_int64();
    return wrong_type("userId", "a whole number or a string");
}

std::expected<push::message, input_fault> read_message(const json::value& from,
                                                       const std::string& at) {
    if (!from.is_object()) return wrong_type(at, "an object");
    const json::object& object = from.get_object();
    push::message out;
    const json::value* const content = object.if_contains("content");
    if (content == nullptr) return missing(at + "/content");
    if (!content->is_string()) return wrong_type(at + "/content", "a string");
    out.content = text_of(content->get_string());
    auto id = optional_text(object, "messageId", at + "/messageId");
    if (!id) return unexpected(id.error());
    out.id = std::move(*id);
    if (const json::value* const important = object.if_contains("important")) {
        if (!important->is_bool()) return wrong_type(at + "/important", "true or false");
        if (important->get_bool()) out.kind = push::message_class::important;
    }
    auto kind = optional_text(object, "class", at + "/class");
    if (!kind) return unexpected(kind.error());
    if (*kind == "low" && out.kind == push::message_class::normal) {
        out.kind = push::message_class::low;
    } else if (*kind && *kind != "low" && *kind != "normal") {
        return wrong_type(at + "/class", "\"low\" or \"normal\"");
    }
    return out;
}

std::expected<std::vector<push::message>, input_fault> read_messages(const json::object& from) {
    const json::value* const value = from.if_contains("messages");
    if (value == nullptr) return missing("messages");
    if (!value->is_array()) return wrong_type("messages", "an array");
    std::vector<push::message> out;
    for (const json::value& one : value->get_array()) {
        auto read = read_message(one, fmt::format("messages/{}", out.size()));
        if (!read) return unexpected(read.error());
        out.push_back(std::move(*read));
    }
    return out;
}

std::expected<std::optional<push::position>, input_fault> read_position(const json::object& from) {
    const json::value* const offset = from.if_contains("offset");
    auto epoch = optional_text(from, "epoch", "epoch");
    if (!epoch) return unexpected(epoch.error());
    if (offset == nullptr && !*epoch) return std::nullopt;
    if (offset == nullptr) return missing("offset");
    if (!*epoch) return missing("epoch");
    if (!offset->is_int64() || offset->get_int64() < 0) {
        return wrong_type("offset", "a whole number");
    }
    return push::position{**epoch, static_cast<std::uint64_t>(offset->get_int64())};
}

}  // namespace

std::expected<push::post, input_fault> parse_post(std::string_view body) {
    const auto read = parse_object(body);
    if (!read) return unexpected(read.error());
    const json::object& object = read->get_object();
    push::post out;
    auto room = required_text(object, "roomId");
    if (!room) return unexpected(room.error());
    out.room = std::move(*room);
    auto user = required_user(object);
    if (!user) return unexpected(user.error());
    out.user = std::move(*user);
    auto name = optional_text(object, "userName", "userName");
    if (!name) return unexpected(name.error());
    out.user_name = name->value_or("");
    auto messages = read_messages(object);
    if (!messages) return unexpected(messages.error());
    out.messages = std::move(*messages);
    auto id = optional_text(object, "messageId", "messageId");
    if (!id) return unexpected(id.error());
    if (*id && out.messages.size() == 1 && !out.messages[0].id) out.messages[0].id = *id;
    if (*id && out.messages.size() > 1) {
        return wrong_type("messageId", "in each message, if there are several");
    }
    return out;
}

std::expected<token_request, input_fault> parse_token_request(std::string_view body) {
    const auto read = parse_object(body);
    if (!read) return unexpected(read.error());
    const json::object& object = read->get_object();
    token_request out;
    auto user = required_user(object);
    if (!user) return unexpected(user.error());
    out.user = push::to_text(*user);
    auto room = optional_text(object, "roomId", "roomId");
    if (!room) return unexpected(room.error());
    out.room = room->value_or("");
    if (const json::value* const seconds = object.if_contains("seconds")) {
        if (!seconds->is_int64() || seconds->get_int64() < 1 || seconds->get_int64() > 86'400) {
            return wrong_type("seconds", "a whole number from 1 to 86400");
        }
        out.seconds = seconds->get_int64();
    }
    return out;
}

std::expected<intervention, input_fault> parse_intervention(std::string_view body,
                                                            const char* field) {
    const auto read = parse_object(body);
    if (!read) return unexpected(read.error());
    auto target = required_text(read->get_object(), field);
    if (!target) return unexpected(target.error());
    auto reason = required_text(read->get_object(), "reason");
    if (!reason) return unexpected(reason.error());
    if (reason->empty() || reason->size() > 200) return wrong_type("reason", "1 to 200 bytes");
    return intervention{std::move(*target), std::move(*reason)};
}

std::expected<viewer_message, input_fault> parse_viewer_message(std::string_view text) {
    const auto read = parse_object(text);
    if (!read) return unexpected(read.error());
    const json::object& object = read->get_object();
    const auto type = required_text(object, "type");
    if (!type) return unexpected(type.error());
    if (*type == "ping") return ping_server{};
    if (*type != "join" && *type != "leave") {
        return wrong_type("type", "join, leave or ping");
    }
    auto room = required_text(object, "room");
    if (!room) return unexpected(room.error());
    if (*type == "leave") return leave_room{std::move(*room)};
    auto resume = read_position(object);
    if (!resume) return unexpected(resume.error());
    return join_room{std::move(*room), std::move(*resume)};
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#include <holdfast/push/frame.hpp>

#include "core/require.hpp"
#include "push/frame_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace holdfast::push {
namespace {

std::string encode_frame(const frame& f) {
    std::string out;
    std::size_t size = 160 + f.room().size() + f.epoch().size();
    for (const frame_message& m : f.messages()) size += m.json.size() + 1;
    out.reserve(size);
    out += R"({"type":"frame","room":)";
    append_json(out, f.room());
    out += R"(,"epoch":)";
    append_json(out, f.epoch());
    fmt::format_to(std::back_inserter(out), R"(,"first":{},"last":{},"count":{},"shed":{})",
                   f.first(), f.last(), f.messages().size(), f.shed());
    out += R"(,"messages":[)";
    for (const frame_message& m : f.messages()) {
        if (&m != f.messages().data()) out += ',';
        out += m.json;
    }
    out += "]}";
    return out;
}

// Takes the text up to the next `end` off.
std::string_view take_until(std::string_view& text, char end) noexcept {
    const std::size_t at = text.find(end);
    const std::string_view taken = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
    return taken;
}

}  // namespace

frame::frame(std::string room, std::string epoch, std::uint64_t first, std::uint64_t last,
             std::vector<frame_message> messages)
    : room_(std::move(room)),
      epoch_(std::move(epoch)),
      first_(first),
      last_(last),
      messages_(std::move(messages)) {
    detail::require(first_ <= last_ && messages_.size() <= last_ - first_ + 1,
                    "a frame has at most one message for each of its offsets");
    text_ = std::make_shared<const std::string>(encode_frame(*this));
}

shared_frame cut(const shared_frame& f, std::uint64_t after) {
    detail::require(after < f->last(), "something of a frame is left when it is cut");
    if (after < f->first()) return f;
    std::vector<frame_message> rest;
    for (const frame_message& m : f->messages()) {
        if (m.offset > after) rest.push_back(m);
    }
    return std::make_shared<frame>(f->room(), f->epoch(), after + 1, f->last(), std::move(rest));
}

shared_frame merge(std::span<const shared_frame> frames, message_class least) {
    detail::require(!frames.empty(), "there are frames to merge");
    if (frames.size() == 1 && least == message_class::low) return frames.front();
    std::vector<frame_message> all;
    for (const shared_frame& f : frames) {
        for (const frame_message& m : f->messages()) {
            if (m.kind >= least) all.push_back(m);
        }
    }
    const frame& head = *frames.front();
    return std::make_shared<frame>(head.room(), head.epoch(), head.first(), frames.back()->last(),
                                   std::move(all));
}

void append_json(std::string& out, std::string_view text) {
    constexpr std::string_view hex = "0123456789abcdef";
    out += '"';
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (c == '\n') {
            out += "\\n";
        } else if (byte < 0x20 || byte == 0x7f) {
            out += "\\u00";
            out += hex[byte >> 4U];
            out += hex[byte & 15U];
        } else {
            out += c;
        }
    }
    out += '"';
}

std::string message_body(const post& p, const message& m, std::string_view id) {
    std::string out = R"({"id":)";
    append_json(out, id);
    out += R"(,"userId":)";
    if (const auto* number = std::get_if<std::int64_t>(&p.user)) {
        out += std::to_string(*number);
    } else {
        append_json(out, std::get<std::string>(p.user));
    }
    out += R"(,"userName":)";
    append_json(out, p.user_name);
    out += R"(,"content":)";
    append_json(out, m.content);
    if (m.kind == message_class::important) out += R"(,"important":true)";
    out += '}';
    return out;
}

std::string with_offset(std::string_view body, std::uint64_t offset) {
    if (body.empty()) return "{}";
    return fmt::format(R"({{"offset":{},{})", offset, body.substr(1));
}

std::string_view class_text(message_class kind) noexcept {
    constexpr std::string_view digits = "012";
    return digits.substr(static_cast<std::size_t>(kind), 1);
}

message_class class_of(std::string_view text) noexcept {
    if (text == "0") return message_class::low;
    return text == "2" ? message_class::important : message_class::normal;
}

std::optional<std::uint64_t> parse_number(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc{} || end != text.data() + text.size()) return {};
    return value;
}

std::optional<shared_frame> parse_published(const std::string& room, std::string_view payload) {
    std::string_view head = take_until(payload, '\n');
    if (take_until(head, ' ') != "hf1") return {};
    const std::string epoch(take_until(head, ' '));
    const auto first = parse_number(take_until(head, ' '));
    const auto last = parse_number(head);
    if (epoch.empty() || !first || !last || *first == 0 || *first > *last) return {};

    std::vector<frame_message> messages;
    std::uint64_t before = *first - 1;
    while (!payload.empty()) {
        std::string_view line = take_until(payload, '\n');
        const auto offset = parse_number(take_until(line, ' '));
        const std::string_view kind = take_until(line, ' ');
        if (!offset || *offset <= before || *offset > *last || !line.starts_with('{')) return {};
        before = *offset;
        messages.push_back({*offset, class_of(kind), with_offset(line, *offset)});
    }
    return std::make_shared<frame>(room, epoch, *first, *last, std::move(messages));
}

}  // namespace holdfast::push

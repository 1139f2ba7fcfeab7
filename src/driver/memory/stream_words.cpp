// SPDX-License-Identifier: Apache-2.0
#include "driver/memory/stream_words.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace holdfast::memory {
namespace {

constexpr std::size_t longest_id = 127;

// As Redis reads it: what its own reader of integers does not take goes to strtoull, which also
// takes a plus, blanks and zeros before it.
std::optional<std::uint64_t> parse_unsigned(const std::string& text) {
    if (const auto plain = parse_integer(text)) {
        if (*plain < 0) return std::nullopt;
        return static_cast<std::uint64_t>(*plain);
    }
    errno = 0;
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
    if (errno == EINVAL || errno == ERANGE || text.empty() || *end != '\0') return std::nullopt;
    return number;
}

[[noreturn]] void refuse_id() {
    refuse("ERR Invalid stream ID specified as stream command argument");
}

std::optional<stream_id> parse_end(std::string_view text, std::uint64_t seq) {
    if (text == "-") return first_stream_id;
    if (text == "+") return last_stream_id;
    return parse_stream_id(text, seq);
}

struct range_word {
    stream_id id;
    bool excluded;
};

range_word parse_range_word(std::string_view text, std::uint64_t seq) {
    const bool excluded = text.size() > 1 && text.front() == '(';
    const auto id = excluded ? parse_stream_id(text.substr(1), seq) : parse_end(text, seq);
    if (!id) refuse_id();
    return {*id, excluded};
}

}  // namespace

std::optional<parsed_stream_id> parse_new_stream_id(std::string_view text) {
    if (text.size() > longest_id) return std::nullopt;
    const std::string_view shown = printed(text);
    const std::size_t dash = shown.find('-');
    const auto ms = parse_unsigned(std::string(shown.substr(0, dash)));
    if (!ms) return std::nullopt;
    if (dash == shown.npos) return parsed_stream_id{{*ms, 0}};
    if (shown.substr(dash + 1) == "*") return parsed_stream_id{{*ms, 0}, true};
    const auto seq = parse_unsigned(std::string(shown.substr(dash + 1)));
    if (!seq) return std::nullopt;
    return parsed_stream_id{{*ms, *seq}};
}

std::optional<stream_id> parse_stream_id(std::string_view text, std::uint64_t seq) {
    const auto parsed = parse_new_stream_id(text);
    if (!parsed || parsed->any_seq) return std::nullopt;
    if (printed(text).find('-') == text.npos) return stream_id{parsed->id.ms, seq};
    return parsed->id;
}

stream_id stream_id_word(const call& c, std::size_t i, std::uint64_t seq) {
    const auto id = parse_stream_id(c.arg(i), seq);
    if (!id) refuse_id();
    return *id;
}

stream_id stream_end_word(const call& c, std::size_t i) {
    const auto id = parse_end(c.arg(i), 0);
    if (!id) refuse_id();
    return *id;
}

stream_id range_start_word(const call& c, std::size_t i) {
    const range_word start = parse_range_word(c.arg(i), 0);
    if (!start.excluded) return start.id;
    const auto next = start.id.next();
    if (!next) refuse("ERR invalid start ID for the interval");
    return *next;
}

stream_id range_end_word(const call& c, std::size_t i) {
    const range_word end = parse_range_word(c.arg(i), UINT64_MAX);
    if (!end.excluded) return end.id;
    const auto previous = end.id.previous();
    if (!previous) refuse("ERR invalid end ID for the interval");
    return *previous;
}

stream::group& stream_group_of(const call& c, std::size_t key, std::size_t group) {
    auto* held = c.look<stream>(c.arg(key));
    stream::group* found = held == nullptr ? nullptr : held->find_group(c.arg(group));
    if (found == nullptr) {
        refuse(fmt::format("NOGROUP No such key '{}' or consumer group '{}'", printed(c.arg(key)),
                           printed(c.arg(group))));
    }
    return *found;
}

void put_stream_entry(sink& out, const stream_id& id, const stream::fields& what) {
    out.array(2);
    out.string(to_string(id));
    out.array(what.size());
    for (const std::string& text : what) out.string(text);
}

}  // namespace holdfast::memory

// SPDX-License-Identifier: Apache-2.0
//
// The text: "hb1 version partitions", a line for the move ("-" if there is none), a line for each
// segment: "id version low".
#include "cache/board_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace holdfast::detail {
namespace {

constexpr std::string_view map_mark = "hb1";

std::vector<std::string_view> split_words(std::string_view line) {
    std::vector<std::string_view> parts;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find(' '), line.size());
        if (end > 0) parts.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return parts;
}

template <class Number>
bool read_number(std::string_view text, Number& into) {
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), into);
    return wrong == std::errc{} && end == text.data() + text.size();
}

std::optional<board_shift> parse_shift(const std::vector<std::string_view>& parts) {
    if (parts.size() != 3) return {};
    board_shift shift{std::string(parts[0]), std::string(parts[1]), {}};
    if (parts[2] == "all") return shift;
    double cut = 0;
    if (!read_number(parts[2], cut) || !std::isfinite(cut)) return {};
    shift.cut = cut;
    return shift;
}

bool in_order(const std::vector<board_segment>& segments) {
    if (segments.empty() || segments.size() > most_segments) return false;
    if (segments.front().low != -HUGE_VAL) return false;
    for (std::size_t i = 1; i < segments.size(); ++i) {
        if (!(segments[i - 1].low < segments[i].low)) return false;
    }
    return true;
}

std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

}  // namespace

std::size_t board_map::segment_of(double score) const {
    const auto above = std::ranges::upper_bound(segments, score, {}, &board_segment::low);
    return static_cast<std::size_t>(above - segments.begin()) - (above == segments.begin() ? 0 : 1);
}

const board_segment* board_map::find(std::string_view id) const {
    const auto at = std::ranges::find(segments, id, &board_segment::id);
    return at == segments.end() ? nullptr : &*at;
}

std::optional<board_map> board_map::moved() const {
    if (!moving) return {};
    board_map next = *this;
    ++next.version;
    next.moving.reset();
    auto& all = next.segments;
    const auto from = std::ranges::find(all, moving->from, &board_segment::id);
    const auto to = std::ranges::find(all, moving->to, &board_segment::id);
    if (from == all.end()) return {};
    if (!moving->cut) {
        if (to == all.end() || from - to != 1) return {};
        ++to->version;
        all.erase(from);
    } else if (to == all.end()) {
        ++from->version;
        all.insert(from + 1, {moving->to, first_version + 1, *moving->cut});
    } else {
        if (to - from != 1) return {};
        ++from->version;
        ++to->version;
        to->low = *moving->cut;
    }
    return in_order(all) ? std::optional(std::move(next)) : std::nullopt;
}

std::string board_map::text() const {
    std::string out = fmt::format("{} {} {}\n", map_mark, version, partitions);
    if (!moving) {
        out += "-\n";
    } else if (moving->cut) {
        out += fmt::format("{} {} {}\n", moving->from, moving->to, *moving->cut);
    } else {
        out += fmt::format("{} {} all\n", moving->from, moving->to);
    }
    for (const auto& one : segments) {
        out += fmt::format("{} {} {}\n", one.id, one.version, one.low);
    }
    return out;
}

std::optional<board_map> board_map::parse(std::string_view text) {
    board_map map;
    const auto head = split_words(take_line(text));
    if (head.size() != 3 || head[0] != map_mark || !read_number(head[1], map.version) ||
        !read_number(head[2], map.partitions) || map.partitions < 1 || map.partitions > 1024) {
        return {};
    }
    const auto moving = split_words(take_line(text));
    if (moving.size() != 1) {
        map.moving = parse_shift(moving);
        if (!map.moving) return {};
    }
    while (!text.empty()) {
        const auto parts = split_words(take_line(text));
        board_segment one;
        if (parts.size() != 3 || !read_number(parts[1], one.version) ||
            !read_number(parts[2], one.low)) {
            return {};
        }
        one.id = parts[0];
        map.segments.push_back(std::move(one));
    }
    if (!in_order(map.segments)) return {};
    return map;
}

}  // namespace holdfast::detail

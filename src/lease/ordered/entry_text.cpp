// SPDX-License-Identifier: Apache-2.0
#include "lease/ordered/entry_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace holdfast::ordered {
namespace {

constexpr std::string_view first_line = "holdfast 1";

/// A host may be called anything; a line ends at its end.
std::string one_line(std::string text) {
    std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    return text;
}

template <class Number>
bool read_number(std::string_view text, Number& out) {
    const char* const end = text.data() + text.size();
    const auto [rest, problem] = std::from_chars(text.data(), end, out);
    return problem == std::errc{} && rest == end;
}

std::string mode_words(const lease_mode& mode) {
    switch (mode.type) {
        case lease_mode::kind::exclusive: return "exclusive";
        case lease_mode::kind::shared: return "shared";
        case lease_mode::kind::permit:
            return fmt::format("permit {} of {}", mode.permits, mode.limit);
    }
    std::unreachable();
}

/// What it cannot read it takes for the mode that excludes all others.
lease_mode read_mode(std::string_view text) {
    constexpr std::string_view permit = "permit ";
    constexpr std::string_view of = " of ";
    if (text == "shared") return {.type = lease_mode::kind::shared};
    const std::size_t middle = text.find(of);
    if (!text.starts_with(permit) || middle == std::string_view::npos) return {};
    lease_mode mode{.type = lease_mode::kind::permit};
    if (!read_number(text.substr(permit.size(), middle - permit.size()), mode.permits) ||
        !read_number(text.substr(middle + of.size()), mode.limit)) {
        return {};
    }
    return mode;
}

bool is_owner(std::string_view text) {
    return text.size() == 32 && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
           });
}

void read_line(std::string_view word, std::string_view rest, queue_entry& entry) {
    std::int64_t number = 0;
    if (word == "owner" && is_owner(rest)) entry.owner = rest;
    if (word == "mode") entry.mode = read_mode(rest);
    if (word == "host") entry.who.host = rest;
    if (word == "pid" && read_number(rest, number)) entry.who.pid = number;
    if (word == "program") entry.who.program = rest;
    if (word == "note") entry.note = rest;
    if (word == "made") read_number(rest, entry.made);
    if (word == "ttl" && read_number(rest, number)) entry.ttl = std::chrono::milliseconds(number);
    if (word == "since" && read_number(rest, number)) {
        entry.since = wall_time(
            std::chrono::duration_cast<wall_time::duration>(std::chrono::milliseconds(number)));
    }
}

}  // namespace

std::string entry_text(const queue_entry& entry) {
    std::string text =
        fmt::format("{}\nowner {}\nmode {}\n", first_line, entry.owner, mode_words(entry.mode));
    const auto line = [&](std::string_view word, const auto& rest) {
        fmt::format_to(std::back_inserter(text), "{} {}\n", word, rest);
    };
    if (entry.since) {
        line("since",
             std::chrono::duration_cast<std::chrono::milliseconds>(entry.since->time_since_epoch())
                 .count());
    }
    if (entry.made != 0) line("made", entry.made);
    if (entry.ttl != duration::zero()) {
        line("ttl", std::chrono::ceil<std::chrono::milliseconds>(entry.ttl).count());
    }
    if (!entry.who.host.empty()) line("host", one_line(entry.who.host));
    if (entry.who.pid != 0) line("pid", entry.who.pid);
    if (!entry.who.program.empty()) line("program", one_line(entry.who.program));
    if (!entry.note.empty()) line("note", one_line(entry.note));
    return text;
}

void read_entry_text(std::string_view text, queue_entry& entry) {
    const auto next_line = [&] {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        return line;
    };
    if (next_line() != first_line) return;
    while (!text.empty()) {
        const std::string_view line = next_line();
        const std::size_t space = std::min(line.find(' '), line.size());
        read_line(line.substr(0, space), line.substr(std::min(space + 1, line.size())), entry);
    }
    if (entry.owner.empty())
        entry = {.key = entry.key,
                 .owner = {},
                 .position = entry.position,
                 .version = entry.version,
                 .lease = entry.lease};
}

}  // namespace holdfast::ordered

// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/setting_text.hpp"

#include <holdfast/engine/span_text.hpp>
#include <holdfast/engine/suggest.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace holdfast::app {
namespace {

std::unexpected<error> wrong(std::string detail) {
    return fail(errc::invalid_argument, std::move(detail));
}

// The part before the mark; the text keeps what stands behind it.
std::string_view take_until(std::string_view& text, char mark) {
    const auto at = text.find(mark);
    const std::string_view part = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    return part;
}

result<void> read_rule_part(push::room_rule& rule, std::string_view name, std::string_view value) {
    if (name == "mode") {
        const auto mode = push::parse_mode(value);
        if (!mode) return std::unexpected(mode.error());
        rule.mode = *mode;
        return {};
    }
    if (name == "cooldown") {
        const auto span = parse_seconds(value);
        if (!span) return std::unexpected(span.error());
        rule.cooldown = *span;
        return {};
    }
    if (name == "require_ids") {
        bool yes = false;
        if (auto read = flag_text{}.read(yes, value); !read) return read;
        rule.require_ids = yes;
        return {};
    }
    return wrong(fmt::format("'{}' is not one of mode, cooldown, require_ids", name));
}

}  // namespace

result<duration> parse_seconds(std::string_view text) {
    const auto unit = text.find_first_not_of("0123456789.");
    const std::string_view number = text.substr(0, unit);
    const std::string_view name = unit == std::string_view::npos ? "s" : text.substr(unit);
    const auto dot = number.find('.');
    if (dot == std::string_view::npos) return parse_span(fmt::format("{}{}", number, name));
    // Digits behind the point, as millionths of the unit: exact, and no number is too large for it.
    const std::string_view digits = number.substr(dot + 1);
    std::uint64_t part = 0;
    const std::string millionths = fmt::format("{:0<6}", digits);
    const auto read =
        std::from_chars(millionths.data(), millionths.data() + millionths.size(), part);
    const auto whole =
        parse_span(fmt::format("{}{}", dot == 0 ? "0" : number.substr(0, dot), name));
    const auto one = parse_span(fmt::format("1{}", name));
    if (!whole || !one || digits.size() > 6 || digits.empty() || read.ec != std::errc{} ||
        read.ptr != millionths.data() + millionths.size()) {
        return wrong(fmt::format("'{}' is no time; write 0.5s, 200ms, 10s, 2m or 1h", text));
    }
    return *whole + *one / 1'000'000 * static_cast<std::int64_t>(part);
}

result<void> span_text::read(duration& to, std::string_view text) const {
    const auto span = parse_seconds(text);
    if (!span) return std::unexpected(span.error());
    if (*span < least || *span > most) {
        return wrong(
            fmt::format("'{}' is not from {} to {}", text, show_span(least), show_span(most)));
    }
    to = *span;
    return {};
}

std::string span_text::show(const duration& from) const {
    return show_span(from);
}

result<void> whole_text::read(std::size_t& to, std::string_view text) const {
    std::size_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, ec] = std::from_chars(text.data(), end, number);
    if (ec != std::errc{} || rest != end || number < least || number > most) {
        return wrong(fmt::format("'{}' is no whole number from {} to {}", text, least, most));
    }
    to = number;
    return {};
}

std::string whole_text::show(const std::size_t& from) const {
    return std::to_string(from);
}

result<void> port_text::read(std::optional<std::uint16_t>& to, std::string_view text) const {
    if (text == "off") {
        to.reset();
        return {};
    }
    std::uint16_t port = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, port);
    if (read.ec != std::errc{} || read.ptr != end) {
        return wrong(fmt::format("'{}' is neither off nor a port from 0 to 65535", text));
    }
    to = port;
    return {};
}

std::string port_text::show(const std::optional<std::uint16_t>& from) const {
    return from ? fmt::format("{}", *from) : "off";
}

result<void> flag_text::read(bool& to, std::string_view text) const {
    const bool yes = text == "on" || text == "true" || text == "yes" || text == "1";
    const bool no = text == "off" || text == "false" || text == "no" || text == "0";
    if (!yes && !no) return wrong(fmt::format("'{}' is neither on nor off", text));
    to = yes;
    return {};
}

std::string flag_text::show(const bool& from) const {
    return from ? "on" : "off";
}

result<void> plain_text::read(std::string& to, std::string_view text) const {
    to = text;
    return {};
}

std::string plain_text::show(const std::string& from) const {
    return from;
}

result<void> choice_text::read(std::string& to, std::string_view text) const {
    if (std::ranges::find(choices, text) == choices.end()) {
        return wrong(fmt::format("'{}' is not one of {}{}", text, fmt::join(choices, ", "),
                                 did_you_mean(text, choices)));
    }
    to = text;
    return {};
}

std::string choice_text::show(const std::string& from) const {
    return from;
}

result<void> secret_text::read(std::string& to, std::string_view text) const {
    if (text.size() < 16) return wrong("a secret has at least 16 characters");
    to = text;
    return {};
}

std::string secret_text::show(const std::string& /*from*/) const {
    return {};
}

result<void> list_text::read(std::vector<std::string>& to, std::string_view text) const {
    to.emplace_back(text);
    return {};
}

std::string list_text::show(const std::vector<std::string>& from) const {
    return fmt::format("{}", fmt::join(from, " "));
}

result<void> rate_setting_text::read(std::optional<rate>& to, std::string_view text) const {
    if (text == "off") {
        to.reset();
        return {};
    }
    const auto read = parse_rate(text);
    if (!read) return std::unexpected(read.error());
    to = *read;
    return {};
}

std::string rate_setting_text::show(const std::optional<rate>& from) const {
    if (!from) return "off";
    if (from->period == std::chrono::seconds(1)) return fmt::format("{}/s", from->amount);
    return fmt::format("{}/{}", from->amount, show_span(from->period));
}

result<void> mode_text::read(push::mode& to, std::string_view text) const {
    const auto mode = push::parse_mode(text);
    if (!mode) return std::unexpected(mode.error());
    to = *mode;
    return {};
}

std::string mode_text::show(const push::mode& from) const {
    return std::string(push::to_string(from));
}

result<void> role_text::read(role_set& to, std::string_view text) const {
    if (text == "all") {
        to = {};
        return {};
    }
    role_set made{.logic = false, .job = false, .comet = false};
    std::string_view rest = text;
    while (!rest.empty()) {
        const std::string_view one = take_until(rest, ',');
        if (one == "logic") {
            made.logic = true;
        } else if (one == "job") {
            made.job = true;
        } else if (one == "comet") {
            made.comet = true;
        } else {
            return wrong(fmt::format("'{}' is not one of all, logic, job, comet", one));
        }
    }
    if (text.empty()) return wrong("say all, or some of logic,job,comet");
    to = made;
    return {};
}

std::string role_text::show(const role_set& from) const {
    if (from.all()) return "all";
    std::vector<std::string_view> words;
    if (from.logic) words.emplace_back("logic");
    if (from.job) words.emplace_back("job");
    if (from.comet) words.emplace_back("comet");
    return fmt::format("{}", fmt::join(words, ","));
}

result<void> rule_text::read(std::vector<push::room_rule>& to, std::string_view text) const {
    // A room's name may have a colon in it; what is set has none.
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return wrong(fmt::format("'{}' is no rule; write PATTERN:mode=none,cooldown=0.1s", text));
    }
    push::room_rule rule{.pattern = std::string(text.substr(0, colon))};
    std::string_view rest = text.substr(colon + 1);
    while (!rest.empty()) {
        std::string_view value = take_until(rest, ',');
        const std::string_view name = take_until(value, '=');
        if (auto read = read_rule_part(rule, name, value); !read) return read;
    }
    to.push_back(std::move(rule));
    return {};
}

std::string rule_text::show(const std::vector<push::room_rule>& /*from*/) const {
    return {};
}

}  // namespace holdfast::app

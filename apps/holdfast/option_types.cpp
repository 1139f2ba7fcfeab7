// SPDX-License-Identifier: Apache-2.0
#include "option_types.hpp"

#include <holdfast/engine/suggest.hpp>
#include <holdfast/mutex.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace holdfast::app {
namespace {

// CLI11 puts "--name: " before the text of a validator's refusal.
CLI::Validator refusal(std::function<std::string(std::string&)> why, const std::string& type) {
    CLI::Validator check(std::move(why), type);
    return check;
}

// An option whose text is parsed twice: once to refuse it, once to take it.
template <class Parse, class Take>
CLI::Option* add_parsed(CLI::App& to, const std::string& name, Parse parse, Take take,
                        const std::string& help) {
    const auto check = [parse](std::string& text) -> std::string {
        const auto parsed = parse(text);
        return parsed ? std::string{} : parsed.error().detail;
    };
    return to
        .add_option_function<std::string>(
            name, [parse, take](const std::string& text) { take(parse(text).value()); }, help)
        ->check(refusal(check, ""));
}

// CLI11 would take 010 for 8, and 08 for nothing.
result<int> parse_whole(std::string_view text, whole_range range) {
    int number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, ec] = std::from_chars(text.data(), end, number);
    const bool whole = ec == std::errc{} && rest == end;
    if (whole && number >= range.least && number <= range.most) return number;
    return fail(errc::invalid_argument, fmt::format("'{}' is no whole number from {} to {}", text,
                                                    range.least, range.most));
}

result<duration> parse_span_within(std::string_view text, duration least, duration most) {
    auto span = parse_span(text);
    if (span && *span < least) {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' is too short; the least is {}", text, show_span(least)));
    }
    // What is too long for any time is too long for this one: so its own bound is said.
    const bool too_long = span ? *span > most : span.error().detail.contains("is too long");
    if (too_long) {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' is too long; the most is {}", text, show_span(most)));
    }
    return span;
}

result<duration> parse_wait(std::string_view text) {
    if (text == "forever") return forever;
    return parse_span(text);
}

}  // namespace

CLI::Option* add_whole(CLI::App& to, const std::string& name, int& target, whole_range range,
                       const std::string& help) {
    return add_parsed(
               to, name, [range](std::string_view text) { return parse_whole(text, range); },
               [&target](int number) { target = number; }, help)
        ->type_name("N")
        ->default_str(std::to_string(target));
}

CLI::Option* add_span(CLI::App& to, const std::string& name, duration& target,
                      const std::string& help, duration least, duration most) {
    return add_parsed(
               to, name,
               [=](std::string_view text) { return parse_span_within(text, least, most); },
               [&target](duration d) { target = d; }, help)
        ->type_name("TIME")
        ->default_str(show_span(target));
}

CLI::Option* add_span(CLI::App& to, const std::string& name, std::optional<duration>& target,
                      const std::string& help, duration least, duration most) {
    return add_parsed(
               to, name,
               [=](std::string_view text) { return parse_span_within(text, least, most); },
               [&target](duration d) { target = d; }, help)
        ->type_name("TIME");
}

CLI::Option* add_wait(CLI::App& to, const std::string& name, duration& target,
                      const std::string& help) {
    return add_parsed(
               to, name, parse_wait, [&target](duration d) { target = d; }, help)
        ->type_name("TIME")
        ->default_str(target == forever ? "forever" : show_span(target));
}

CLI::Option* add_rate(CLI::App& to, const std::string& name, std::optional<rate>& target,
                      const std::string& help) {
    return add_parsed(
               to, name, parse_rate, [&target](rate r) { target = r; }, help)
        ->type_name("N/TIME");
}

CLI::Option* add_choice(CLI::App& to, const std::string& name, std::string& target,
                        std::vector<std::string> choices, const std::string& help) {
    const std::string all = fmt::format("{}", fmt::join(choices, "|"));
    const auto check = [choices = std::move(choices)](std::string& text) -> std::string {
        if (std::ranges::find(choices, text) != choices.end()) return {};
        const std::vector<std::string_view> known(choices.begin(), choices.end());
        return fmt::format("'{}' is not one of {}{}", text, fmt::join(choices, ", "),
                           did_you_mean(text, known));
    };
    return to.add_option(name, target, help)
        ->check(refusal(check, ""))
        ->type_name(all)
        ->default_str(target);
}

CLI::Option* add_text(CLI::App& to, const std::string& name, std::string& target,
                      const std::string& help) {
    return to.add_option(name, target, help)->type_name("URL")->default_str(target);
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#include "rate_text.hpp"

#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace holdfast::app {
namespace {

struct period_word {
    std::string_view word;
    duration length;
};

constexpr std::array period_words{
    period_word{"s", std::chrono::seconds(1)},      period_word{"sec", std::chrono::seconds(1)},
    period_word{"second", std::chrono::seconds(1)}, period_word{"m", std::chrono::minutes(1)},
    period_word{"min", std::chrono::minutes(1)},    period_word{"minute", std::chrono::minutes(1)},
    period_word{"h", std::chrono::hours(1)},        period_word{"hour", std::chrono::hours(1)},
    period_word{"d", std::chrono::hours(24)},       period_word{"day", std::chrono::hours(24)},
};

std::unexpected<error> no_rate(std::string_view text) {
    return fail(
        errc::invalid_argument,
        fmt::format("'{}' is no rate; write 10/s, 100/min, 5/hour, 500/day or 3/90s", text));
}

std::unexpected<error> out_of_bounds(std::string_view text) {
    return fail(
        errc::invalid_argument,
        fmt::format("'{}' is out of bounds: a rate is 1 to 1000000000 in 1ms to 8760h", text));
}

}  // namespace

result<rate> parse_rate(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) return no_rate(text);
    const std::string_view number = text.substr(0, slash);
    const std::string_view period = text.substr(slash + 1);
    rate made;
    const auto [rest, ec] =
        std::from_chars(number.data(), number.data() + number.size(), made.amount);
    if (ec == std::errc::invalid_argument || rest != number.data() + number.size()) {
        return no_rate(text);
    }
    const auto word = std::ranges::find(period_words, period, &period_word::word);
    if (word != period_words.end()) {
        made.period = word->length;
    } else if (const auto span = parse_span(period); span) {
        made.period = *span;
    } else if (period.find_first_of("0123456789") == 0) {  // meant as a time
        return fail(errc::invalid_argument, fmt::format("'{}': {}", text, span.error().detail));
    } else {
        return no_rate(text);
    }
    const bool fits = ec == std::errc{} && check(rule_of(made, 0));
    if (!fits) return out_of_bounds(text);
    return made;
}

limit_rule rule_of(const rate& r, std::uint64_t burst) {
    if (burst > 0) {
        return token_bucket{.capacity = burst, .refill = r.amount, .period = r.period};
    }
    // The log lets in again exactly when the period is over; the counter, which costs the same for
    // any number, up to a tenth of it later.
    constexpr std::uint64_t worth_a_log = 1000;
    if (r.amount <= worth_a_log) return sliding_log{.limit = r.amount, .window = r.period};
    return sliding_counter{.limit = r.amount, .window = r.period};
}

}  // namespace holdfast::app

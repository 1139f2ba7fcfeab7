// SPDX-License-Identifier: Apache-2.0
#include <holdfast/engine/span_text.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast {
namespace {

struct unit {
    std::string_view name;
    duration length;
};

// The largest first, for show_span.
constexpr std::array units{
    unit{"h", std::chrono::hours(1)},         unit{"m", std::chrono::minutes(1)},
    unit{"s", std::chrono::seconds(1)},       unit{"ms", std::chrono::milliseconds(1)},
    unit{"us", std::chrono::microseconds(1)},
};

}  // namespace

result<duration> parse_span(std::string_view text) {
    constexpr auto most = std::chrono::hours(24 * 365);
    std::int64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, ec] = std::from_chars(text.data(), end, number);
    const std::string_view name(rest, static_cast<std::size_t>(end - rest));
    const auto found = std::ranges::find(units, name, &unit::name);
    const bool zero = ec == std::errc{} && number == 0 && name.empty();
    if (zero) return duration::zero();
    if (ec == std::errc::invalid_argument || text.starts_with('-') || found == units.end()) {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' is no time; write 500us, 200ms, 10s, 2m or 1h", text));
    }
    if (ec == std::errc::result_out_of_range || number > most / found->length) {
        return fail(errc::invalid_argument,
                    fmt::format("'{}' is too long; the most is {}", text, show_span(most)));
    }
    return number * found->length;
}

std::string show_span(duration d) {
    if (d == duration::zero()) return "0";
    for (const unit& u : units) {
        if (d % u.length == duration::zero()) return fmt::format("{}{}", d / u.length, u.name);
    }
    return fmt::format("{}us", d / std::chrono::microseconds(1));
}

}  // namespace holdfast

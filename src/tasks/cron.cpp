// SPDX-License-Identifier: Apache-2.0
#include <holdfast/tasks/cron.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast {
namespace {

namespace chr = std::chrono;

struct cron_field {
    std::string_view name;
    int least;
    int most;
    std::span<const std::string_view> words;  // the first stands for `least`
};

constexpr std::array<std::string_view, 12> month_words{"jan", "feb", "mar", "apr", "may", "jun",
                                                       "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> day_words{"sun", "mon", "tue", "wed",
                                                    "thu", "fri", "sat"};
constexpr std::array<cron_field, 5> cron_fields{{{"minute", 0, 59, {}},
                                                 {"hour", 0, 23, {}},
                                                 {"day of the month", 1, 31, {}},
                                                 {"month", 1, 12, month_words},
                                                 {"day of the week", 0, 7, day_words}}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> cron_names{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

// What does not fit is -1.
int one_value(std::string_view text, const cron_field& field) {
    std::string lower(text);
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    const auto word = std::ranges::find(field.words, lower);
    if (word != field.words.end()) {
        return field.least + static_cast<int>(word - field.words.begin());
    }
    int value = -1;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = problem == std::errc{} && end == text.data() + text.size() && !text.empty();
    return whole && value >= field.least && value <= field.most ? value : -1;
}

// "*", "5", "1-5", "*/15", "10-50/20". Sets the bits; false if it does not fit.
template <std::size_t Size>
bool read_part(std::string_view part, const cron_field& field, std::bitset<Size>& out) {
    int step = 1;
    const std::size_t slash = part.find('/');
    if (slash != std::string_view::npos) {
        const cron_field steps{"step", 1, field.most, {}};
        step = one_value(part.substr(slash + 1), steps);
        part = part.substr(0, slash);
        if (step < 1) return false;
    }
    int first = field.least;
    int last = field.most == 7 ? 6 : field.most;
    if (part != "*") {
        const std::size_t dash = part.find('-');
        first = one_value(part.substr(0, dash), field);
        if (dash != std::string_view::npos) {
            last = one_value(part.substr(dash + 1), field);
        } else if (slash == std::string_view::npos) {
            last = first;
        }
    }
    if (first < 0 || last < first) return false;
    for (int at = first; at <= last; at += step)
        out.set(static_cast<std::size_t>(at) % (Size == 7 ? 7 : Size));
    return true;
}

template <std::size_t Size>
result<void> read_field(std::string_view text, const cron_field& field, std::bitset<Size>& out) {
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = rest.find(',');
        if (!read_part(rest.substr(0, comma), field, out)) {
            return fail(errc::invalid_argument,
                        fmt::format("cron: the {} takes {} to {}, as in *, 5, 1-5, */15 or 1,15; "
                                    "not '{}'",
                                    field.name, field.least, field.most, text.substr(0, 40)));
        }
        if (comma == std::string_view::npos) return {};
        rest.remove_prefix(comma + 1);
    }
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (true) {
        const std::size_t begin = text.find_first_not_of(" \t");
        if (begin == std::string_view::npos || words.size() > cron_fields.size()) return words;
        text.remove_prefix(begin);
        const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
        words.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
}

}  // namespace

result<cron> cron::parse(std::string_view text) {
    const auto* const named =
        std::ranges::find(cron_names, text, [](const auto& one) { return one.first; });
    if (named != cron_names.end()) text = named->second;
    const auto words = words_of(text);
    if (words.size() != cron_fields.size() || text.size() > 500) {
        return fail(errc::invalid_argument,
                    "cron: write five fields (minute, hour, day of the month, month, day of the "
                    "week), such as '0 3 * * *', or @hourly, @daily, @weekly, @monthly, @yearly");
    }
    cron made;
    auto read = read_field(words[0], cron_fields[0], made.minutes_);
    if (read) read = read_field(words[1], cron_fields[1], made.hours_);
    if (read) read = read_field(words[2], cron_fields[2], made.days_);
    if (read) read = read_field(words[3], cron_fields[3], made.months_);
    if (read) read = read_field(words[4], cron_fields[4], made.weekdays_);
    if (!read) return std::unexpected(std::move(read.error()));
    made.any_day_ = words[2].starts_with('*');
    made.any_weekday_ = words[4].starts_with('*');
    if (made.next(wall_time{})) return made;
    return fail(errc::invalid_argument, fmt::format("cron: '{}' never comes true", text));
}

bool cron::fits(chr::year_month_day day) const {
    if (!months_[static_cast<unsigned>(day.month())]) return false;
    const bool by_day = days_[static_cast<unsigned>(day.day())];
    const bool by_week = weekdays_[chr::weekday{chr::sys_days{day}}.c_encoding()];
    if (any_day_ || any_weekday_) return by_day && by_week;
    return by_day || by_week;
}

std::optional<wall_time> cron::next(wall_time after) const {
    constexpr int most_days = 366 * 40;
    auto day = chr::floor<chr::days>(after);
    for (int i = 0; i < most_days; ++i, day += chr::days(1)) {
        if (!fits(chr::year_month_day{day})) continue;
        for (std::size_t hour = 0; hour < hours_.size(); ++hour) {
            if (!hours_[hour] || day + chr::hours(hour + 1) <= after) continue;
            for (std::size_t minute = 0; minute < minutes_.size(); ++minute) {
                const wall_time tick = day + chr::hours(hour) + chr::minutes(minute);
                if (minutes_[minute] && tick > after) return tick;
            }
        }
    }
    return std::nullopt;
}

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "commands/demo/timeline.hpp"

#include "display_width.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace holdfast::app {
namespace {

constexpr std::array actors{actor::ana, actor::ben, actor::store};
constexpr int time_column = 9;

std::string_view name_of(actor who) {
    switch (who) {
        case actor::ana: return "ana";
        case actor::ben: return "ben";
        case actor::store: return "register";
    }
    return "";
}

paint colour_of(actor who) {
    switch (who) {
        case actor::ana: return paint::cyan;
        case actor::ben: return paint::magenta;
        case actor::store: return paint::yellow;
    }
    return paint::plain;
}

std::size_t index_of(actor who) {
    return static_cast<std::size_t>(who);
}

std::string padded(std::string text, int visible, int width) {
    text.append(static_cast<std::size_t>(std::max(0, width - visible)), ' ');
    return text;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, int width) {
    std::vector<std::string> lines(1);
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(' '), text.size());
        const std::string_view word = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        const int needed = columns(lines.back()) + columns(word) + 1;
        if (!lines.back().empty() && needed > width) lines.emplace_back();
        if (!lines.back().empty()) lines.back() += ' ';
        lines.back() += word;
    }
    return lines;
}

timeline::timeline(const terminal& out, clock& time)
    : out_(out),
      start_(time.now()),
      column_(std::clamp((out.width() - time_column - 1) / 3, 22, 34)) {}

void timeline::chapter(std::string_view title) {
    const std::scoped_lock guard(mutex_);
    bars_.fill(bar::idle);
    fmt::print("\n{}\n", out_.in(paint::bold, title));
    if (out_.interactive()) {
        std::string heads = out_.in(paint::dim, fmt::format("{:>{}}  ", "ms", time_column - 2));
        for (const actor who : actors) {
            const auto name = name_of(who);
            heads += padded(out_.in(colour_of(who), name), columns(name), column_);
        }
        fmt::print("\n{}\n", heads);
    }
    std::fflush(stdout);
}

void timeline::say(time_point when, actor who, bar now, std::string_view what) {
    const std::scoped_lock guard(mutex_);
    bars_[index_of(who)] = now;
    const double ms = std::chrono::duration<double, std::milli>(when - start_).count();
    if (out_.interactive()) {
        say_in_columns(ms, who, what);
    } else {
        say_plainly(ms, who, what);
    }
    std::fflush(stdout);
}

void timeline::say_plainly(double ms, actor who, std::string_view what) {
    fmt::print("{:>8.1f} ms  {:<8}  {}\n", ms, name_of(who), what);
}

std::string timeline::bar_of(actor who) const {
    switch (bars_[index_of(who)]) {
        case bar::idle: return out_.in(paint::dim, "│");
        case bar::waits: return out_.in(colour_of(who), "┊");
        case bar::holds: return out_.in(colour_of(who), "█");
        case bar::shaky: return out_.in(paint::red, "▒");
    }
    return "";
}

void timeline::say_in_columns(double ms, actor who, std::string_view what) {
    std::string time = out_.in(paint::dim, fmt::format("{:>{}.1f}  ", ms, time_column - 2));
    for (const std::string& line : wrapped(what, column_ - 3)) {
        std::string row = time;
        for (const actor each : actors) {
            const std::string text = each == who ? line : "";
            row += bar_of(each) + " " + padded(text, columns(text), column_ - 2);
        }
        row.erase(row.find_last_not_of(' ') + 1);
        fmt::print("{}\n", row);
        time.assign(time_column, ' ');
    }
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#include "commands/bench/progress.hpp"

#include "display_width.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace holdfast::app {
namespace {

constexpr int longest_progress_bar = 24;
constexpr int shortest_bar = 8;
constexpr int shortest_step = 4;

}  // namespace

std::string draw(const progress_view& view, int width, const terminal& on) {
    const int room = width - 1 - (columns(view.what) + 1);
    const int wanted = columns(view.step) + 1;
    if (room < shortest_bar + 1 + shortest_step) {
        const std::string percent = fmt::format("{}%", std::min(100, view.done * 100 / view.steps));
        return columns(percent) < width ? percent : std::string();
    }
    const int bar = std::clamp(room - wanted, shortest_bar, longest_progress_bar);
    const int full = std::min(bar, view.done * bar / view.steps);
    const int left = room - bar - 1;
    return fmt::format("{} {}{} {}", view.what, on.in(paint::cyan, repeated("━", full)),
                       on.in(paint::dim, repeated("━", bar - full)),
                       columns(view.step) <= left ? std::string(view.step) : fit(view.step, left));
}

progress::progress(std::string what, int steps)
    : what_(std::move(what)), steps_(std::max(1, steps)) {}

progress::~progress() {
    if (terminal::of(STDERR_FILENO).interactive()) fmt::print(stderr, "\r\x1b[K");
}

void progress::step(std::string_view name) {
    const int done = begun_++;
    const terminal out = terminal::of(STDERR_FILENO);  // which may have another width by now
    if (!out.interactive()) {
        fmt::print(stderr, "{}: {} of {}: {}\n", what_, begun_, steps_, name);
        return;
    }
    fmt::print(
        stderr, "\r\x1b[K{}",
        draw({.what = what_, .done = done, .steps = steps_, .step = name}, out.width(), out));
    std::fflush(stderr);
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#include "bench/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace holdfast::app {
namespace {

constexpr int bar_columns = 24;

std::string repeated(std::string_view text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
}

}  // namespace

progress::progress(std::string what, int steps)
    : out_(terminal::of(STDERR_FILENO)), what_(std::move(what)), steps_(std::max(1, steps)) {}

progress::~progress() {
    if (out_.interactive()) fmt::print(stderr, "\r\x1b[K");
}

void progress::step(std::string_view name) {
    const int done = begun_++;
    if (!out_.interactive()) {
        fmt::print(stderr, "{}: {} of {}: {}\n", what_, begun_, steps_, name);
        return;
    }
    const int full = std::min(bar_columns, done * bar_columns / steps_);
    fmt::print(stderr, "\r\x1b[K{} {}{} {}", what_, out_.in(paint::cyan, repeated("━", full)),
               out_.in(paint::dim, repeated("━", bar_columns - full)), name);
    std::fflush(stderr);
}

}  // namespace holdfast::app

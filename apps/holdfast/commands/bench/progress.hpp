// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "terminal.hpp"

#include <string>
#include <string_view>

/// How far a measurement is, on stderr: a bar on a terminal, a line for each step elsewhere.
/// Standard output stays free for the figures.
namespace holdfast::app {

struct progress_view {
    std::string_view what;
    int done;
    int steps;
    std::string_view step;
};

/// One line, of less than `width` columns: in the last one some terminals begin the next. What
/// there is no room for is shortened; where there is next to none, only the percentage is left.
[[nodiscard]] std::string draw(const progress_view& view, int width, const terminal& on);

class progress {
public:
    progress(std::string what, int steps);
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    /// Takes the bar off the screen.
    ~progress();

    /// The next step begins.
    void step(std::string_view name);

    /// There are more steps than was thought.
    void add(int steps) noexcept { steps_ += steps; }

private:
    const std::string what_;
    int steps_;
    int begun_ = 0;
};

}  // namespace holdfast::app

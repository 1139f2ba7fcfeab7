// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "terminal.hpp"

#include <string>
#include <string_view>

/// How far a measurement is, on stderr: a bar on a terminal, a line for each step elsewhere.
/// Standard output stays free for the figures.
namespace holdfast::app {

class progress {
public:
    progress(std::string what, int steps);
    progress(const progress&) = delete;
    progress& operator=(const progress&) = delete;
    /// Takes the bar off the screen.
    ~progress();

    /// The next step begins.
    void step(std::string_view name);

private:
    const terminal out_;
    const std::string what_;
    const int steps_;
    int begun_ = 0;
};

}  // namespace holdfast::app

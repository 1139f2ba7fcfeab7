// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/span_text.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

/// The kinds of option values that Holdfast's commands take, each with an error that says what
/// would be right.
namespace holdfast::app {

struct whole_range {
    int least;
    int most;
};

// Each takes the default that --help shows from what `target` holds.

CLI::Option* add_whole(CLI::App& to, const std::string& name, int& target, whole_range range,
                       const std::string& help);

CLI::Option* add_span(CLI::App& to, const std::string& name, duration& target,
                      const std::string& help);

CLI::Option* add_choice(CLI::App& to, const std::string& name, std::string& target,
                        std::vector<std::string> choices, const std::string& help);

CLI::Option* add_text(CLI::App& to, const std::string& name, std::string& target,
                      const std::string& help);

}  // namespace holdfast::app

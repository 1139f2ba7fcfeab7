// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

/// One command of the command line: its words and options, and what it does.
///
/// CLI11 reads the words. It would also run the commands, but then before all words were
/// understood; so a command is run by us, after the whole line was found to be right.
namespace holdfast::app {

struct command {
    CLI::App* words;
    std::function<exit_code()> run;
};

using command_list = std::vector<command>;

void add_demo(CLI::App& to, command_list& all);
void add_bench(CLI::App& to, command_list& all);

/// Help that fits a screen: usage, commands, options with their defaults, and the footer.
[[nodiscard]] std::string help_for(const CLI::App& words);

/// The command that was named last: `holdfast bench locks` answers `locks`.
[[nodiscard]] const CLI::App& innermost(const CLI::App& top);

/// What is wrong with a word that nobody expected, with the nearest word that would be right.
[[nodiscard]] std::string unexpected_word(const CLI::App& top);

}  // namespace holdfast::app

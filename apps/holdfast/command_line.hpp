// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

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

/// `command_words` is what stands after the "--", and must outlive the list.
void add_run(CLI::App& to, command_list& all, const std::vector<std::string>& command_words);
void add_lock(CLI::App& to, command_list& all);
void add_limit(CLI::App& to, command_list& all);
void add_once(CLI::App& to, command_list& all);
void add_doctor(CLI::App& to, command_list& all);
void add_schema(CLI::App& to, command_list& all);
void add_task(CLI::App& to, command_list& all);
void add_worker(CLI::App& to, command_list& all, const std::vector<std::string>& command_words);
void add_video(CLI::App& to, command_list& all);
void add_top(CLI::App& to, command_list& all);
void add_completion(CLI::App& to, command_list& all);
void add_manual(CLI::App& to, command_list& all);
void add_redis(CLI::App& to, command_list& all);
void add_demo(CLI::App& to, command_list& all);
void add_serve(CLI::App& to, command_list& all);
void add_load(CLI::App& to, command_list& all);
void add_bench(CLI::App& to, command_list& all);

/// Whether a command of the user's stands after its "--".
[[nodiscard]] bool takes_command(const CLI::App& words);

/// All that it has, in their order.
[[nodiscard]] std::vector<const CLI::App*> commands_of(const CLI::App& words);

/// "holdfast lock evict".
[[nodiscard]] std::string full_name(const CLI::App& words);

/// "holdfast lock evict NAME [options]".
[[nodiscard]] std::string usage_of(const CLI::App& words);

/// "-n" and "--amount"; nothing for a word that is taken by its place.
[[nodiscard]] std::vector<std::string> names_of(const CLI::Option& option);

/// "-n, --amount N"; nothing for a word that is taken by its place.
[[nodiscard]] std::string label_of(const CLI::Option& option);

/// Is it kept out of --help, the manual and the completions?
[[nodiscard]] bool is_hidden(const CLI::Option& option);

/// What stands below the options; a paragraph is one line there, and is broken here.
[[nodiscard]] std::string footer_of(const CLI::App& words);

/// Help that fits a screen: usage, commands, options with their defaults, and the footer.
[[nodiscard]] std::string help_for(const CLI::App& words);

/// The command that was named last: `holdfast bench locks` answers `locks`.
[[nodiscard]] const CLI::App& innermost(const CLI::App& top);

}  // namespace holdfast::app

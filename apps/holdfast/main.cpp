// SPDX-License-Identifier: Apache-2.0
//
// holdfast: the command line. This file reads the words; each command is a file of its own.
#include "command_line.hpp"
#include "engine_choice.hpp"
#include "exit_code.hpp"

#include <holdfast/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace holdfast::app;

constexpr const char* examples =
    "Examples:\n"
    "  holdfast run nightly -- ./report.sh      one at a time, on all machines with this engine\n"
    "  holdfast run --help                      what one command takes\n"
    "Exit codes: 0 done, 1 failed, 2 misuse, 3 busy, 4 lost, 5 no answer from the engine\n";

int to_int(exit_code code) {
    return static_cast<int>(code);
}

exit_code misuse(const CLI::App& top, std::string_view why) {
    std::string hint = "holdfast";
    const CLI::App& words = innermost(top);
    if (&words != &top) {
        if (words.get_parent() != &top) hint += " " + words.get_parent()->get_name();
        hint += " " + words.get_name();
    }
    fmt::print(stderr, "holdfast: {}\nSee '{} --help'.\n", why, hint);
    return exit_code::usage;
}

/// The words of a line, cut at the first "--": ours, and those of a command that we shall run.
struct split_words {
    std::vector<std::string> ours;  ///< The last one first, as CLI11 wants them.
    std::vector<std::string> command;
    bool cut = false;
};

split_words split(int argc, char** argv) {
    split_words made;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word(argv[i]);
        if (!made.cut && word == "--") {
            made.cut = true;
        } else {
            (made.cut ? made.command : made.ours).emplace_back(word);
        }
    }
    std::ranges::reverse(made.ours);
    return made;
}

exit_code run(CLI::App& top, const command_list& all, const split_words& words) {
    try {
        top.parse(std::vector<std::string>(words.ours));
    } catch (const CLI::CallForHelp&) {
        fmt::print("{}", help_for(innermost(top)));
        return exit_code::success;
    } catch (const CLI::CallForVersion& asked) {
        fmt::print("{}\n", asked.what());
        return exit_code::success;
    } catch (const CLI::ParseError& wrong) {
        return misuse(top, wrong.what());
    }
    if (const std::string why = unexpected_word(top); !why.empty()) return misuse(top, why);
    const CLI::App* const named = &innermost(top);
    for (const command& one : all) {
        if (one.words != named) continue;
        if (words.cut && !one.takes_command) return misuse(top, "'--' is only for 'holdfast run'");
        return one.run();
    }
    return misuse(top, "say which command");
}

}  // namespace

int main(int argc, char** argv) {
    try {
        CLI::App top("Holdfast: locks that work across machines.", "holdfast");
        top.set_help_flag("-h,--help", "Show this help");
        top.set_version_flag("--version", fmt::format("holdfast {}", holdfast::version),
                             "Show the version");
        top.allow_extras();  // inherited by the commands: we say ourselves what was unexpected
        top.footer(examples);
        const split_words words = split(argc, argv);
        hide_passwords(argc, argv);
        command_list all;
        add_run(top, all, words.command);
        add_lock(top, all);
        add_limit(top, all);
        add_once(top, all);
        add_doctor(top, all);
        add_top(top, all);
#ifdef HOLDFAST_APP_DEMO
        add_demo(top, all);
#endif
#ifdef HOLDFAST_APP_BENCH
        add_bench(top, all);
#endif
        add_completion(top, all);
        add_manual(top, all);
        return to_int(run(top, all, words));
    } catch (const std::exception& e) {
        fmt::print(stderr, "holdfast: {}\n", e.what());
        return to_int(exit_code::failure);
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// holdfast: the command line. This file reads the words; each command is a file of its own.
#include "command_line.hpp"
#include "exit_code.hpp"

#include <holdfast/version.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

namespace {

using namespace holdfast::app;

constexpr const char* examples =
    "Examples:\n"
    "  holdfast demo                                       what Holdfast does, in seconds\n"
    "  holdfast bench locks --engine memory:               how fast the embedded engine is\n"
    "  holdfast bench locks --engine redis: --threads 64   the same on a Redis of its own\n"
    "  holdfast bench locks --help                         what one command takes\n"
    "\n"
    "Exit codes:\n";

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

exit_code run(CLI::App& top, const command_list& all, int argc, char** argv) {
    try {
        top.parse(argc, argv);
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
        if (one.words == named) return one.run();
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
        top.footer(std::string(examples) + exit_codes_help);
        command_list all;
#ifdef HOLDFAST_APP_DEMO
        add_demo(top, all);
#endif
#ifdef HOLDFAST_APP_BENCH
        add_bench(top, all);
#endif
        return to_int(run(top, all, argc, argv));
    } catch (const std::exception& e) {
        fmt::print(stderr, "holdfast: {}\n", e.what());
        return to_int(exit_code::failure);
    }
}

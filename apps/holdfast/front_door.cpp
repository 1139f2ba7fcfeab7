// SPDX-License-Identifier: Apache-2.0
#include "front_door.hpp"

#include "command_line.hpp"

#include <holdfast/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace holdfast::app {
namespace {

constexpr const char* examples =
    "Examples:\n"
    "  holdfast run nightly -- ./report.sh      one at a time, on all machines\n"
    "  holdfast run --help                      what one command takes\n"
    "Exit codes: 0 done, 1 failed, 2 misuse, 3 busy, 4 lost, 5 no answer\n";

/// All commands, and the words of a line, cut at the first "--": ours, and those of a command that
/// we shall run.
struct house {
    CLI::App top{"Holdfast: locks that work across machines.", "holdfast"};
    command_list all;
    std::vector<std::string> ours;  ///< The last one first, as CLI11 wants them.
    std::vector<std::string> command;
    bool cut = false;
};

void split(std::span<const char* const> line, house& into) {
    for (const std::string_view word : line) {
        if (!into.cut && word == "--") {
            into.cut = true;
        } else {
            (into.cut ? into.command : into.ours).emplace_back(word);
        }
    }
    std::ranges::reverse(into.ours);
}

void furnish(house& all) {
    CLI::App& top = all.top;
    top.set_help_flag("-h,--help", "Show this help");
    top.set_version_flag("--version", fmt::format("holdfast {}", version), "Show the version");
    top.allow_extras();  // inherited by the commands: we say ourselves what was unexpected
    top.footer(examples);
    add_run(top, all.all, all.command);
    add_lock(top, all.all);
    add_limit(top, all.all);
    add_once(top, all.all);
    add_doctor(top, all.all);
    add_top(top, all.all);
#ifdef HOLDFAST_APP_DEMO
    add_demo(top, all.all);
#endif
#ifdef HOLDFAST_APP_BENCH
    add_bench(top, all.all);
#endif
    add_completion(top, all.all);
    add_manual(top, all.all);
}

request misuse(const CLI::App& top, std::string_view why) {
    std::string hint = "holdfast";
    const CLI::App& words = innermost(top);
    if (&words != &top) {
        if (words.get_parent() != &top) hint += " " + words.get_parent()->get_name();
        hint += " " + words.get_name();
    }
    return {fmt::format("holdfast: {}\nSee '{} --help'.\n", why, hint), exit_code::usage, {}};
}

}  // namespace

request read_words(std::span<const char* const> line) {
    const auto here = std::make_shared<house>();
    split(line, *here);
    furnish(*here);
    CLI::App& top = here->top;
    try {
        top.parse(std::vector<std::string>(here->ours));
    } catch (const CLI::CallForHelp&) {
        return {help_for(innermost(top)), exit_code::success, {}};
    } catch (const CLI::CallForVersion& asked) {
        return {fmt::format("{}\n", asked.what()), exit_code::success, {}};
    } catch (const CLI::ParseError& wrong) {
        return misuse(top, wrong.what());
    }
    if (const std::string why = unexpected_word(top); !why.empty()) return misuse(top, why);
    const CLI::App* const named = &innermost(top);
    const auto found = std::ranges::find(here->all, named, &command::words);
    if (found == here->all.end()) return misuse(top, "say which command");
    if (here->cut && !found->takes_command) return misuse(top, "'--' is only for 'holdfast run'");
    return {.text = {}, .code = {}, .run = [here, &one = *found] { return one.run(); }};
}

}  // namespace holdfast::app

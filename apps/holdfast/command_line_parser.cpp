// SPDX-License-Identifier: Apache-2.0
#include "command_line_parser.hpp"

#include "command_line.hpp"
#include "printable.hpp"
#include "usage_errors.hpp"

#include <holdfast/version.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace holdfast::app {
namespace {

constexpr const char* examples =
    "Exit codes: 0 done, 1 failed, 2 misuse, 3 busy, 4 lost, 5 no answer\n";

/// All commands, and the words of a line: ours, and those of a command that we shall run.
struct house {
    CLI::App top{"Holdfast: locks that work across machines.", "holdfast"};
    command_list all;
    std::vector<std::string> ours;
    std::vector<std::string> command;

    /// Throws CLI::ParseError.
    void read() {
        std::vector<std::string> last_first(ours.rbegin(), ours.rend());  // as CLI11 wants them
        top.parse(std::move(last_first));
    }
};

/// Which "--" the command of `holdfast run` stands after: the first; or the second, if the name
/// stands between them.
enum class cut : std::uint8_t { at_first, at_second };

using line_end = std::span<const char* const>::iterator;

line_end next_dashes(line_end from, line_end end) {
    return std::find_if(from, end, [](std::string_view word) { return word == "--"; });
}

bool is_run(std::span<const char* const> line) {
    const auto named =
        std::ranges::find_if(line, [](std::string_view word) { return !word.starts_with('-'); });
    return named != line.end() &&
           (std::string_view(*named) == "run" || std::string_view(*named) == "worker");
}

bool may_be_cut_later(std::span<const char* const> line) {
    const auto first = next_dashes(line.begin(), line.end());
    return line.end() - first >= 3 && std::string_view(first[2]) == "--";
}

// For all others, "--" ends the options, and CLI11 knows that.
void split(std::span<const char* const> line, cut where, house& into) {
    auto end = line.end();
    if (is_run(line)) {
        end = next_dashes(line.begin(), line.end());
        if (where == cut::at_second) end = next_dashes(end + 1, line.end());
    }
    into.ours.assign(line.begin(), end);
    if (end != line.end()) into.command.assign(end + 1, line.end());
}

void furnish(house& all) {
    CLI::App& top = all.top;
    top.set_help_flag("-h,--help", "Show this help");
    top.set_version_flag("--version", fmt::format("holdfast {}", version), "Show the version");
    // Both are inherited by the commands. We say ourselves what was unexpected; and after a command
    // another one's name is a word like any other.
    top.allow_extras();
    top.require_subcommand(0, 1);
    add_run(top, all.all, all.command);
    add_lock(top, all.all);
    add_limit(top, all.all);
    add_once(top, all.all);
#ifdef HOLDFAST_APP_TASKS
    add_task(top, all.all);
    add_worker(top, all.all, all.command);
    add_video(top, all.all);
#endif
    add_doctor(top, all.all);
    add_schema(top, all.all);
    add_top(top, all.all);
#ifdef HOLDFAST_APP_SERVE
    add_serve(top, all.all);
    add_load(top, all.all);
#endif
#ifdef HOLDFAST_APP_DEMO
    add_redis(top, all.all);
    add_demo(top, all.all);
#endif
#ifdef HOLDFAST_APP_BENCH
    add_bench(top, all.all);
#endif
    add_completion(top, all.all);
    add_manual(top, all.all);
    // Answered by read_words(); here it is for the list, the manual and the completions.
    CLI::App* const help = top.add_subcommand("help", "Show the options of a command");
    help->add_option("COMMAND");
    help->footer("Example:\n  holdfast help lock evict\n");
    top.footer(examples);  // the last: commands that were added after it would have it too
}

request misuse(const CLI::App& top, std::string_view why) {
    std::string hint = "holdfast";
    const CLI::App& words = innermost(top);
    if (&words != &top) {
        if (words.get_parent() != &top) hint += " " + words.get_parent()->get_name();
        hint += " " + words.get_name();
    }
    return {fmt::format("holdfast: {}\nSee '{} --help'.\n", printable(why), hint),
            exit_code::usage,
            {}};
}

request read(std::span<const char* const> line, cut where) {
    const auto here = std::make_shared<house>();
    split(line, where, *here);
    furnish(*here);
    CLI::App& top = here->top;
    try {
        here->read();
    } catch (const CLI::CallForHelp&) {
        return {help_for(innermost(top)), exit_code::success, {}};
    } catch (const CLI::CallForVersion& asked) {
        return {fmt::format("{}\n", asked.what()), exit_code::success, {}};
    } catch (const CLI::RequiredError& wrong) {
        const bool again = where == cut::at_first && is_run(line) && may_be_cut_later(line);
        if (again) return read(line, cut::at_second);
        return misuse(top, what_is_wrong(top, here->ours, &wrong));
    } catch (const CLI::ParseError& wrong) {
        return misuse(top, what_is_wrong(top, here->ours, &wrong));
    }
    const std::string why = what_is_wrong(top, here->ours, nullptr);
    if (!why.empty()) return misuse(top, why);
    const CLI::App* const named = &innermost(top);
    const auto found = std::ranges::find(here->all, named, &command::words);
    if (found == here->all.end()) {
        return misuse(top, fmt::format("name a command: {}", names_of_commands(*named)));
    }
    return {.text = {}, .code = {}, .run = [here, &one = *found] { return one.run(); }};
}

// Only the names of commands matter; what they need is missing, of course.
request help_on(std::span<const char* const> line) {
    house here;
    split(line, cut::at_first, here);
    furnish(here);
    try {
        here.read();
    } catch (const CLI::ParseError&) {
    }
    if (const std::string why = unexpected_word(here.top); !why.empty()) {
        return misuse(here.top, why);
    }
    return {help_for(innermost(here.top)), exit_code::success, {}};
}

}  // namespace

request read_words(std::span<const char* const> line) {
    if (!line.empty() && std::string_view(line.front()) == "help") return help_on(line.subspan(1));
    return read(line, cut::at_first);
}

}  // namespace holdfast::app

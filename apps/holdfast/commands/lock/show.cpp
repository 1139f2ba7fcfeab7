// SPDX-License-Identifier: Apache-2.0
//
// holdfast lock show: one name, its holders, and its line.
#include "commands/lock/lease_text.hpp"
#include "commands/lock/lock.hpp"
#include "error_output.hpp"
#include "printable.hpp"
#include "time_text.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace holdfast::app {
namespace {

std::string since(const std::optional<wall_time>& when) {
    return when ? fmt::format(", since {}", show_time_of_day(*when)) : std::string();
}

void print_text(const lease_info& seen) {
    fmt::print("{}: {}, {} waiting\n", printable(seen.name),
               seen.held() ? fmt::format("held, {}", show_mode(seen.mode)) : "free for a moment",
               seen.waiters);
    for (const holder_info& one : seen.holders) {
        fmt::print("  held by   {}{}, {}", show_who(one.who), since(one.since),
                   show_ending(one.remaining));
        if (one.fence.value != 0) fmt::print(", fence {}", one.fence.value);
        if (one.permits != 1) fmt::print(", {} permits", one.permits);
        if (!one.note.empty()) fmt::print(": {}", printable(one.note));
        fmt::print("\n");
    }
    int place = 0;
    for (const waiter_info& one : seen.queue) {
        fmt::print("  {:>2}. waits  {}{}\n", ++place, show_who(one.who), since(one.since));
    }
}

exit_code show(const lock_look_options& options) {
    auto on = open_shared(options.engine, purpose::look);
    if (!on) return complain(on.error());
    const auto seen = on->inspect(options.name);
    if (!seen) return complain(seen.error());
    if (options.format == "json") {
        lease_info free;
        free.name = options.name;
        fmt::print("{}\n", to_json(seen->value_or(free)));
    } else if (*seen) {
        print_text(**seen);
    } else {
        fmt::print("{}: free\n", printable(options.name));
    }
    return exit_code::success;
}

}  // namespace

void add_lock_show(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<lock_look_options>();
    CLI::App* words = to.add_subcommand("show", "Show the holders and waiters of a name");
    words->add_option("NAME", options->name, "Which")->required();
    add_look_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast lock show orders/42\n"
        "\n"
        "In JSON, a name without holders is free.\n"
        "Exit codes: 0 done, held or free; 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return show(*options); }});
}

}  // namespace holdfast::app

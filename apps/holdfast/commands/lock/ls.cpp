// SPDX-License-Identifier: Apache-2.0
//
// holdfast lock ls: the names that are held, one to a line.
#include "commands/lock/lease_text.hpp"
#include "commands/lock/lock.hpp"
#include "error_output.hpp"
#include "printable.hpp"
#include "table.hpp"
#include "terminal.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::app {
namespace {

// Notes have a column if there are any.
std::string list_text(std::span<const lease_info> found, const terminal& to) {
    const bool notes =
        std::ranges::any_of(found, [](const lease_info& one) { return !show_note(one).empty(); });
    std::vector<std::string> headings{"NAME", "MODE", "HOLDER", "LEFT", "WAITING", "FENCE"};
    if (notes) headings.emplace_back("NOTE");
    table out(std::move(headings));
    for (const lease_info& one : found) {
        std::vector<std::string> row{
            printable(one.name),         show_mode(one.mode),
            show_holders(one),           show_left(one.remaining),
            std::to_string(one.waiters), one.fence.value == 0 ? "-" : to_string(one.fence)};
        if (notes) row.push_back(show_note(one));
        out.add(std::move(row));
    }
    return out.text(to);
}

exit_code list(const lock_look_options& options) {
    auto on = open_shared(options.engine, purpose::look);
    if (!on) return complain(on.error());
    const auto found = on->list(options.name);
    if (!found) return complain(found.error());
    if (options.format == "json") {
        for (const lease_info& one : *found) fmt::print("{}\n", to_json(one));
        return exit_code::success;
    }
    if (found->empty()) {
        fmt::print(stderr, "nothing is held\n");
        return exit_code::success;
    }
    fmt::print("{}", list_text(*found, terminal::of(STDOUT_FILENO)));
    return exit_code::success;
}

}  // namespace

void add_lock_ls(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<lock_look_options>();
    CLI::App* words = to.add_subcommand("ls", "List the names that are held");
    words->add_option("PREFIX", options->name, "Only names that begin so");
    add_look_options(*words, *options);
    words->footer(
        "Example:\n"
        "  holdfast lock ls orders/\n"
        "\n"
        "With --format json, one object per line.\n"
        "Exit codes: 0 done, also if nothing is held; 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return list(*options); }});
}

}  // namespace holdfast::app

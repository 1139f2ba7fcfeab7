// SPDX-License-Identifier: Apache-2.0
//
// holdfast lock evict: evicts the holder of a name.
//
// The holder is told, not asked: until it hears of it, it works on, and only its fence stops it. So
// a person is shown whom it hits, and asked.
#include "commands/lock/lease_text.hpp"
#include "commands/lock/lock.hpp"
#include "error_output.hpp"
#include "printable.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <string>

namespace holdfast::app {
namespace {

struct break_options {
    engine_options engine;
    std::string name;
    std::string reason;
    bool yes = false;
};

// Asks on stderr, so that the answer's echo and our words stay out of a pipe.
bool agrees(const lease_info& seen) {
    fmt::print(stderr, "'{}' is held by {}, which may still be working. Evict it? [y/N] ",
               printable(seen.name), show_holders(seen));
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

exit_code break_it(const break_options& options) {
    if (!options.yes && ::isatty(STDIN_FILENO) != 1) {
        complain("there is no terminal to ask: use --yes");
        return exit_code::usage;
    }
    auto on = open_shared(options.engine);
    if (!on) return complain(on.error());
    if (!options.yes) {
        const auto seen = on->inspect(options.name);
        if (!seen) return complain(seen.error());
        if (!*seen) {
            fmt::print("{}: free\n", printable(options.name));
            return exit_code::success;
        }
        if (!agrees(**seen)) return exit_code::failure;
    }
    const auto taken = on->evict(options.name, options.reason);
    if (!taken) return complain(taken.error());
    if (*taken == 0) {
        fmt::print("{}: free\n", printable(options.name));
    } else {
        fmt::print("{}: evicted {} holder{}\n", printable(options.name), *taken,
                   *taken == 1 ? "" : "s");
    }
    return exit_code::success;
}

}  // namespace

void add_lock_break(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<break_options>();
    CLI::App* words = to.add_subcommand("evict", "Evict the holder of a name");
    words->add_option("NAME", options->name, "Which")->required();
    words->add_option("--reason", options->reason, "The reason, sent to the holder")
        ->type_name("TEXT")
        ->required();
    words->add_flag("-y,--yes", options->yes, "Do not ask");
    add_engine_options(*words, options->engine);
    words->footer(
        "Example:\n"
        "  holdfast lock evict orders/42 --reason \"web3 is gone\"\n"
        "\n"
        "The holder keeps working until it learns of it, at its next renewal at the latest (a "
        "third "
        "of its ttl). Let the resource check the fence.\n"
        "Exit codes: 0 evicted or free, 1 you answered no, 2 misuse, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return break_it(*options); }});
}

}  // namespace holdfast::app

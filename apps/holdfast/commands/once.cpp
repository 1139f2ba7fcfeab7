// SPDX-License-Identifier: Apache-2.0
//
// holdfast once: is this the first time within a window? The answer is the exit code.
#include "command_line.hpp"
#include "engine_choice.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "printable.hpp"

#include <holdfast/once.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

namespace holdfast::app {
namespace {

struct once_command_options {
    engine_options engine;
    std::string key;
    duration window = std::chrono::hours(1);
    std::string record;
};

// A script gets it to the letter; a terminal must not obey it.
void print_record(const std::string& record) {
    fmt::print("{}\n", ::isatty(STDOUT_FILENO) == 1 ? printable_lines(record) : record);
}

exit_code claim(const once_command_options& options) {
    auto on = open_shared(options.engine);
    if (!on) return complain(on.error());
    once marks(*on, {.window = options.window, .timeout = std::chrono::seconds(5)});
    const auto seen = marks.claim(options.key);
    if (!seen) return complain(seen.error());
    if (!seen->first) {
        if (seen->recorded) print_record(*seen->recorded);
        return exit_code::busy;
    }
    if (options.record.empty()) return exit_code::success;
    if (const auto kept = marks.record(*seen, options.record); !kept) {
        return complain(kept.error());
    }
    return exit_code::success;
}

}  // namespace

void add_once(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<once_command_options>();
    CLI::App* words = to.add_subcommand("once", "Succeed for the first caller within a time");
    words->add_option("KEY", options->key, "What shall be done once")->required();
    add_span(*words, "--window", options->window, "How long the mark stays",
             std::chrono::milliseconds(1));
    words->add_option("--record", options->record, "Stored for later callers, and printed to them")
        ->type_name("TEXT");
    add_engine_options(*words, options->engine);
    words->footer(
        "Examples:\n"
        "  holdfast once alarm/disk-full --window 1h && send-alarm\n"
        "  holdfast once import/42 --record \"by $HOSTNAME\" || echo done already\n"
        "Exit codes: 0 first, 2 misuse, 3 not the first, 5 no answer\n"
        "\n"
        "'holdfast run KEY --once TIME -- …' removes the mark if its command fails.\n");
    all.push_back({.words = words, .run = [options] { return claim(*options); }});
}

}  // namespace holdfast::app

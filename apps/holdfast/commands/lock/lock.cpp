// SPDX-License-Identifier: Apache-2.0
//
// holdfast lock: who holds what, and what an operator may do about it.
#include "commands/lock/lock.hpp"

#include "option_types.hpp"

#include <CLI/CLI.hpp>

namespace holdfast::app {

void add_lock(CLI::App& to, command_list& all) {
    CLI::App* words = to.add_subcommand("lock", "Inspect locks, wait for one, evict a holder");
    words->footer(
        "Examples:\n"
        "  holdfast lock ls orders/\n"
        "  holdfast lock show orders/42 --format json\n"
        "  holdfast lock evict orders/42 --reason \"web3 is gone\"\n");
    add_lock_ls(*words, all);
    add_lock_show(*words, all);
    add_lock_watch(*words, all);
    add_lock_break(*words, all);
    add_lock_wait(*words, all);
}

void add_look_options(CLI::App& to, lock_look_options& options) {
    add_choice(to, "--format", options.format, {"text", "json"}, "The output format");
    add_engine_options(to, options.engine);
}

}  // namespace holdfast::app

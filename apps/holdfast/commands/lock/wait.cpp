// SPDX-License-Identifier: Apache-2.0
//
// holdfast lock wait: waits until nobody holds a name, without taking it.
//
// It stands in no line, so it delays nobody; it looks again and again, at most a second apart. A
// name that is handed from one to the next is never seen free.
#include "commands/lock/lock.hpp"
#include "error_output.hpp"
#include "option_types.hpp"

#include <holdfast/mutex.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <memory>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;

struct wait_options {
    engine_options engine;
    std::string name;
    duration timeout = forever;
};

exit_code wait_for(const wait_options& options) {
    auto on = open_shared(options.engine, purpose::look);
    if (!on) return complain(on.error());
    clock& time = system_clock();
    const time_point give_up =
        options.timeout == forever ? time_point::max() : time.now() + options.timeout;
    for (duration nap = 20ms;; nap = std::min<duration>(2 * nap, 1s)) {
        const auto seen = on->inspect(options.name);
        if (!seen) return complain(seen.error());
        if (!*seen || (!(*seen)->held() && (*seen)->waiters == 0)) {
            return exit_code::success;
        }
        const time_point now = time.now();
        if (now >= give_up) {
            complain(fmt::format("'{}' is still held", options.name));
            return exit_code::busy;
        }
        const auto ms =
            std::chrono::ceil<std::chrono::milliseconds>(std::min<duration>(nap, give_up - now));
        ::poll(nullptr, 0, static_cast<int>(ms.count()));
    }
}

}  // namespace

void add_lock_wait(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<wait_options>();
    CLI::App* words = to.add_subcommand("wait", "Wait until nobody holds a name");
    words->add_option("NAME", options->name, "Which")->required();
    add_wait(*words, "--timeout", options->timeout, "How long, or forever");
    add_engine_options(*words, options->engine);
    words->footer(
        "Example:\n"
        "  holdfast lock wait deploy --timeout 10m && echo nobody deploys\n"
        "\n"
        "It does not acquire the name: somebody may hold it again a moment later. To run a command "
        "while you hold it, use 'holdfast run NAME --wait TIME'.\n"
        "Exit codes: 0 free, 2 misuse, 3 still held, 5 no answer\n");
    all.push_back({.words = words, .run = [options] { return wait_for(*options); }});
}

}  // namespace holdfast::app

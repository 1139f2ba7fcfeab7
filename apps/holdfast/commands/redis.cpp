// SPDX-License-Identifier: Apache-2.0
//
// holdfast redis: the embedded engine as a server on loopback, for redis-cli and for the unit tests
// of programs in any language.
#include "command_line.hpp"
#include "driver/memory/memory_engine.hpp"
#include "error_output.hpp"
#include "option_types.hpp"
#include "process/signal_inbox.hpp"
#include "resp/resp_server.hpp"

#include <holdfast/virtual_clock.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <poll.h>

#include <cstdio>
#include <fstream>
#include <memory>

namespace holdfast::app {
namespace {

struct redis_command_options {
    int port = 6379;
    std::string unix_socket;
    std::string password_file;
    std::string max_memory = "0";
    std::string eviction = "noeviction";
    int connections = 1000;
    bool virtual_time = false;
};

// The first line; a secret stands in no command line.
result<std::string> password_in(const std::string& path) {
    if (path.empty()) return std::string();
    std::ifstream file(path);
    std::string word;
    if (!std::getline(file, word) || word.empty()) {
        return fail(errc::invalid_argument,
                    fmt::format("no password can be read from the first line of {}", path));
    }
    if (word.ends_with('\r')) word.pop_back();
    return word;
}

void say_where(const redis_command_options& options, std::uint16_t port) {
    fmt::print("serving memory: as Redis on 127.0.0.1:{}\n", port);
    if (!options.unix_socket.empty()) fmt::print("and on {}\n", options.unix_socket);
    fmt::print("  redis-cli -p {}\n  holdfast lock ls --engine redis://127.0.0.1:{}\n", port, port);
    if (options.virtual_time) {
        fmt::print("time stands still: redis-cli -p {} HOLDFAST.ADVANCE 1000 lets a second pass\n",
                   port);
    }
    fmt::print("nothing is stored; ends on SIGTERM or Ctrl-C\n");
    std::fflush(stdout);
}

void wait_for_end(signal_inbox& signals) {
    while (true) {
        pollfd one{.fd = signals.readable(), .events = POLLIN, .revents = 0};
        ::poll(&one, 1, -1);
        while (const auto signal = signals.next()) {
            if (asks_to_end(*signal)) return;
        }
    }
}

exit_code serve_redis(const redis_command_options& options) {
    auto signals = signal_inbox::open();
    if (!signals) return complain(signals.error());
    auto password = password_in(options.password_file);
    if (!password) return complain(password.error());
    virtual_clock standing;
    const auto engine = make_memory_engine(
        {.time = options.virtual_time ? static_cast<clock*>(&standing) : nullptr,
         .max_memory = memory::parse_memory_amount(options.max_memory).value_or(0),
         .eviction = memory::eviction_policy_named(options.eviction)
                         .value_or(memory::eviction_policy::noeviction)});
    const auto server =
        resp_server::start(engine, {.port = static_cast<std::uint16_t>(options.port),
                                    .unix_socket = options.unix_socket,
                                    .password = std::move(*password),
                                    .connections = static_cast<std::size_t>(options.connections),
                                    .advances = options.virtual_time ? &standing : nullptr});
    if (!server) return complain(server.error());
    say_where(options, (*server)->port());
    wait_for_end(*signals);
    (*server)->stop();
    return exit_code::success;
}

std::vector<std::string> policies() {
    const auto names = memory::eviction_policy_names();
    return {names.begin(), names.end()};
}

}  // namespace

void add_redis(CLI::App& to, command_list& all) {
    const auto options = std::make_shared<redis_command_options>();
    CLI::App* words =
        to.add_subcommand("redis", "Serve the embedded engine to redis-cli and other clients");
    add_whole(*words, "--port", options->port, {0, 65535}, "On 127.0.0.1; 0 takes a free one");
    words->add_option("--unix-socket", options->unix_socket, "Also on this path")
        ->type_name("PATH");
    words->add_option("--password-file", options->password_file, "AUTH must say its first line")
        ->type_name("FILE");
    words->add_option("--maxmemory", options->max_memory, "What keys may take, 64mb for example")
        ->type_name("BYTES")
        ->default_str("no bound")
        ->check(CLI::Validator(
            [](const std::string& text) {
                return memory::parse_memory_amount(text)
                           ? std::string()
                           : fmt::format("'{}' is no amount of memory such as 64mb", text);
            },
            ""));
    add_choice(*words, "--eviction", options->eviction, policies(),
               "Which keys go when it is reached");
    add_whole(*words, "--connections", options->connections, {1, 10'000}, "At most so many");
    words->add_flag("--virtual-time", options->virtual_time,
                    "Time passes only by HOLDFAST.ADVANCE; for unit tests");
    words->footer(
        "Examples:\n"
        "  holdfast redis --port 6380\n"
        "  holdfast redis --port 0 --virtual-time\n"
        "Exit codes: 0 ended as asked, 2 misuse, 5 the port cannot be had\n");
    all.push_back({.words = words, .run = [options] { return serve_redis(*options); }});
}

}  // namespace holdfast::app

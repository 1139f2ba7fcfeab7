// SPDX-License-Identifier: Apache-2.0
//
// holdfast: the command line. Each command is a file of its own.
#include "command_line_parser.hpp"
#include "engine_choice.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <system_error>

namespace {

std::string error_text() {
    return std::generic_category().message(errno);
}

}  // namespace

int main(int argc, char** argv) {
    using namespace holdfast::app;
    ::setenv("GRPC_VERBOSITY", "NONE", 0);  // what goes wrong is in our own words
    try {
        const request asked = read_words({argv + 1, argv + (argc > 0 ? argc : 1)});
        hide_passwords(argc, argv);
        exit_code code = asked.code;
        if (asked.run) {
            code = asked.run();
        } else {
            fmt::print(code == exit_code::success ? stdout : stderr, "{}", asked.text);
        }
        if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return static_cast<int>(code);
        if (errno != EPIPE) fmt::print(stderr, "holdfast: standard output: {}\n", error_text());
        return static_cast<int>(code == exit_code::success ? exit_code::failure : code);
    } catch (const std::exception& e) {
        fmt::print(stderr, "holdfast: {}\n", e.what());
        return static_cast<int>(exit_code::failure);
    }
}

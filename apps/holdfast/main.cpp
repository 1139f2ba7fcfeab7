// SPDX-License-Identifier: Apache-2.0
//
// holdfast: the command line. Each command is a file of its own.
#include "engine_choice.hpp"
#include "front_door.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>

int main(int argc, char** argv) {
    using namespace holdfast::app;
    try {
        const request asked = read_words({argv + 1, argv + (argc > 0 ? argc : 1)});
        hide_passwords(argc, argv);
        if (asked.run) return static_cast<int>(asked.run());
        const bool answered = asked.code == exit_code::success;
        fmt::print(answered ? stdout : stderr, "{}", asked.text);
        return static_cast<int>(asked.code);
    } catch (const std::exception& e) {
        fmt::print(stderr, "holdfast: {}\n", e.what());
        return static_cast<int>(exit_code::failure);
    }
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

/// Words become a command.
namespace holdfast::app {

/// What a line asks for: a text for one who asked for help or asked wrongly, or something to do.
struct request {
    std::string text;  ///< To show: on stdout if `code` is success, on stderr otherwise.
    exit_code code{};  ///< Of a request that is only a text.
    std::function<exit_code()> run;  ///< Empty for a request that is only a text.
};

/// Reads the words of a line, without the program's own name. Does nothing of what they ask for.
[[nodiscard]] request read_words(std::span<const char* const> line);

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <string_view>

/// What the command line says on stderr when something is not as asked: one sentence.
namespace holdfast::app {

inline void complain(std::string_view sentence) {
    fmt::print(stderr, "holdfast: {}\n", sentence);
}

/// Says why, and answers the code that means it.
[[nodiscard]] inline exit_code complain(const error& why) {
    complain(why.detail);
    return exit_code_of(why.code);
}

}  // namespace holdfast::app

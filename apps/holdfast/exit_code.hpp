// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

/// What the command line says to a script that runs it.
///
/// A code tells what to do next, as an errc does: look at the output, change the command, or try
/// again when the server is back.
namespace holdfast::app {

enum class exit_code : int {
    success = 0,
    failure = 1,      ///< It ran, and did not go as it must.
    usage = 2,        ///< The command line itself is wrong.
    unavailable = 3,  ///< An engine, a server or a program that it needs is not there.
};

/// The lines about them in --help.
inline constexpr const char* exit_codes_help =
    "  0  done\n"
    "  1  it ran, and did not go as it must\n"
    "  2  the command line is wrong\n"
    "  3  an engine, or a program that is needed, is not there\n";

[[nodiscard]] constexpr exit_code exit_code_of(errc code) noexcept {
    switch (code) {
        case errc::invalid_argument:
        case errc::unsupported: return exit_code::usage;
        case errc::unavailable:
        case errc::denied: return exit_code::unavailable;
        default: return exit_code::failure;
    }
}

}  // namespace holdfast::app

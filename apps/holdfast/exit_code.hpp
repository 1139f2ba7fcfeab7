// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>

/// What the command line says to a script that runs it.
///
/// A code tells what to do next, as an errc does: look at the output, change the command, come
/// later, stop, or try again when the engine is back. `run` passes the code of its command through,
/// so there these are only what it says for itself.
namespace holdfast::app {

enum class exit_code : int {
    success = 0,
    failure = 1,           ///< It ran, and did not go as it must.
    usage = 2,             ///< The command line itself is wrong.
    busy = 3,              ///< Someone else holds it, has done it, or has used up the rate.
    lost = 4,              ///< The lease was lost: the command was ended.
    unknown = 5,           ///< No answer from the engine: not there, refused us, or silent.
    not_executable = 126,  ///< The command was found and cannot be run.
    not_found = 127,       ///< There is no such command.
};

/// The code of a command that was run for the user.
[[nodiscard]] constexpr exit_code passed_through(int code) noexcept {
    return static_cast<exit_code>(code);
}

/// The lines about them in --help.
inline constexpr const char* exit_codes_help =
    "  0  done                            3  busy: held by another, done already, over the rate\n"
    "  1  it did not go as it must        4  the lease was lost, and the command ended\n"
    "  2  the command line is wrong       5  no answer from the engine\n";

[[nodiscard]] constexpr exit_code exit_code_of(errc code) noexcept {
    switch (code) {
        case errc::invalid_argument:
        case errc::unsupported: return exit_code::usage;
        case errc::busy:
        case errc::timed_out: return exit_code::busy;
        case errc::lease_lost: return exit_code::lost;
        case errc::unavailable:
        case errc::denied:
        case errc::corrupt:
        case errc::outcome_unknown: return exit_code::unknown;
        case errc::cancelled: return exit_code::failure;
    }
    return exit_code::failure;
}

}  // namespace holdfast::app

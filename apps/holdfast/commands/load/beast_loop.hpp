// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// The minimal broadcast loop on Boost.Beast: what a push server is measured against.
///
/// It accepts viewers, and when all are there it writes one text to each of them with Beast's own
/// WebSocket, again and again. No rooms, no queue, no order to keep, no slow viewers: all that a
/// real server does besides is missing.
namespace holdfast::app {

struct beast_loop_plan {
    std::size_t viewers = 0;
    /// What is broadcast.
    std::string text;
    /// Written to this descriptor when it listens: the port, as two bytes.
    int tell_port = -1;
};

/// Runs until all viewers are gone.
void run_beast_loop(const beast_loop_plan& plan);

}  // namespace holdfast::app

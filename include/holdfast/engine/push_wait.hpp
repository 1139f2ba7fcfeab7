// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <functional>

namespace holdfast {

/// A thread that waits for a push and offers to hear pushes itself meanwhile: see
/// command_engine::hear_pushes().
struct push_wait {
    time_point until;
    /// Called once, when it begins to hear: what becomes readable when `over` may have changed.
    std::function<int()> wake_fd;
    /// Must this thread go?
    std::function<bool()> over;
    /// Is nobody else waiting for a push? Then nobody has to hear them when this thread has gone.
    std::function<bool()> alone;
};

}  // namespace holdfast

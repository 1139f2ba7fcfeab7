// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <functional>

namespace holdfast {

/// A thread that waits for a push and offers to receive pushes itself meanwhile: see
/// command_engine::hear_pushes().
struct push_wait {
    time_point until;
    /// Called once, at the beginning: a descriptor that becomes readable when `over` may have
    /// changed.
    std::function<int()> wake_fd;
    /// Returns whether this thread must stop.
    std::function<bool()> over;
    /// Returns whether nobody else waits for a push: then nobody has to receive them after this
    /// thread.
    std::function<bool()> alone;
};

}  // namespace holdfast

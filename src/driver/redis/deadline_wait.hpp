// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>

/// How a moment of our clock becomes a timeout of the kernel.
///
/// The kernel's waits count a time that stands still while the machine is suspended, so no wait is
/// longer than a slice: after a resume the waiter looks at the real clock within one.
namespace holdfast::redis {

inline constexpr duration longest_wait = std::chrono::seconds(1);

[[nodiscard]] inline timespec timeout_until(time_point when, time_point now,
                                            duration slice = longest_wait) noexcept {
    // The first moment that there is stands for "at once": too far away to subtract from.
    const duration left = when <= now ? duration::zero() : std::min<duration>(when - now, slice);
    const auto whole = std::chrono::floor<std::chrono::seconds>(left);
    return {.tv_sec = static_cast<time_t>(whole.count()),
            .tv_nsec = static_cast<long>((left - whole).count())};
}

/// Asked every few milliseconds by whoever waits long on a thread that has other duties too.
/// False ends the wait.
using patience = std::function<bool()>;
inline constexpr duration patience_slice = std::chrono::milliseconds(10);

}  // namespace holdfast::redis

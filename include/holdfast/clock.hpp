// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

/// A clock that tells and waits.
///
/// All of Holdfast's decisions are made on CLOCK_BOOTTIME: it never steps, and it goes on counting
/// while the machine is suspended, so a holder that slept past its lease notices. It is passed in,
/// never global, so that tests and the simulator run on virtual time.
namespace holdfast {

/// The time scale of every deadline. It has no now(): ask a `clock`.
struct boottime {
    using rep = std::int64_t;
    using period = std::nano;
    using duration = std::chrono::nanoseconds;
    using time_point = std::chrono::time_point<boottime>;
    static constexpr bool is_steady = true;
};

using duration = boottime::duration;
using time_point = boottime::time_point;

/// A point in civil time, for what a server would call TIME.
using wall_time = std::chrono::sys_time<std::chrono::microseconds>;

/// Thread safety: all members may be called from any thread.
class clock {
public:
    clock() = default;
    clock(const clock&) = delete;
    clock& operator=(const clock&) = delete;
    virtual ~clock() = default;

    [[nodiscard]] virtual time_point now() const noexcept = 0;

    /// Civil time. Read once, when an engine starts; only traffic control on etcd: decides by it.
    [[nodiscard]] virtual wall_time wall() const noexcept = 0;

    /// Releases `held`, waits for a notification or until `when` by this clock, takes `held` again.
    /// May return early, so callers wait in a loop around their own condition.
    /// Requires: `held` is locked, and `cv` is always waited on with the same mutex.
    virtual void wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                            time_point when) = 0;
};

/// The machine's CLOCK_BOOTTIME. Lives as long as the program.
[[nodiscard]] clock& system_clock() noexcept;

}  // namespace holdfast

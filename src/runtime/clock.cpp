// SPDX-License-Identifier: Apache-2.0
//
// The machine's CLOCK_BOOTTIME as a clock that waits.
//
// A condition variable waits on CLOCK_MONOTONIC, which stands still while the machine is suspended.
// So a long wait is cut into slices: after a resume, the sleeper looks at the real time within one
// slice, not after the rest of a wait that began before the suspend.
#include <holdfast/clock.hpp>

#include "core/require.hpp"

#include <time.h>

#include <algorithm>

namespace holdfast {
namespace {

constexpr duration slice = std::chrono::seconds(1);

std::chrono::nanoseconds read(clockid_t id) noexcept {
    timespec t{};
    ::clock_gettime(id, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

class boottime_clock final : public clock {
public:
    [[nodiscard]] time_point now() const noexcept override {
        return time_point(read(CLOCK_BOOTTIME));
    }
    [[nodiscard]] wall_time wall() const noexcept override {
        return wall_time(std::chrono::floor<std::chrono::microseconds>(read(CLOCK_REALTIME)));
    }
    void wait_until(std::unique_lock<std::mutex>& held, std::condition_variable& cv,
                    time_point when) override {
        detail::require(held.owns_lock(), "`held` is locked");
        const time_point start = now();
        if (when <= start) return;
        cv.wait_for(held, std::min<duration>(when - start, slice));
    }
};

}  // namespace

clock& system_clock() noexcept {
    static boottime_clock instance;
    return instance;
}

}  // namespace holdfast

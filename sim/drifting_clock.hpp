// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <holdfast/clock.hpp>

/// The clock of one machine: near the world's time, never equal to it.
///
/// It starts at a moment of its own, runs a little too fast or too slow, and may be set. A
/// program's clock (CLOCK_BOOTTIME) is never set; a server's time of day is.
namespace holdfast::sim {

class drifting_clock final : public clock {
public:
    drifting_clock(const timeline& world, duration offset, std::int64_t drift_ppm)
        : world_(world), offset_(offset), ppm_(drift_ppm) {}

    [[nodiscard]] time_point now() const noexcept override {
        return time_point(std::chrono::hours(1) + offset_ + scaled(world_.now()));
    }
    [[nodiscard]] wall_time wall() const noexcept override {
        constexpr wall_time day_one(std::chrono::seconds(1'790'000'000));
        return day_one + std::chrono::floor<std::chrono::microseconds>(now().time_since_epoch());
    }

    /// Only who is gone waits: nothing will come for it any more, so its time is over at once.
    void wait_until(std::unique_lock<std::mutex>& /*held*/, std::condition_variable& /*cv*/,
                    time_point when) override {
        if (when > now()) offset_ += when - now();
    }

    /// The first moment of the world at which this clock shows at least `when`.
    [[nodiscard]] moment when_it_shows(time_point when) const noexcept {
        if (when == time_point::max()) return moment::max();
        const duration wanted = when.time_since_epoch() - std::chrono::hours(1) - offset_;
        auto guess = moment(wanted.count() - wanted.count() / 1'000'000 * ppm_);
        while (scaled(guess) < wanted) guess += moment(1 + (wanted - scaled(guess)).count() / 2);
        return guess;
    }

    void step(duration by) noexcept { offset_ += by; }

private:
    [[nodiscard]] duration scaled(moment t) const noexcept {
        return t +
               duration(t.count() / 1'000'000 * ppm_ + t.count() % 1'000'000 * ppm_ / 1'000'000);
    }

    const timeline& world_;
    duration offset_;
    std::int64_t ppm_;
};

}  // namespace holdfast::sim

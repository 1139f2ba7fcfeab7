// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <optional>

/// Notices when an engine's time of day is set, by comparing it with our own clock.
///
/// An engine that ends leases by its time of day ends them early when that is set forward. A sample
/// is a time that the engine told, with the moments before it was asked for and after it was heard:
/// so the difference of the two clocks is known to be within a range, as wide as the round trip.
/// From one sample to the next that range may move by as much as clocks drift apart; if it moved
/// further, one of them was set, or ours stood still while the machine did.
namespace holdfast::detail {

class clock_watch {
public:
    struct sample {
        wall_time engine;
        time_point sent;
        time_point heard;
    };

    /// How far the engine's clock was set since the sample before, forward or (negative) back. Zero
    /// if it was not, or by no more than `allowed`.
    duration see(const sample& now, duration allowed);

private:
    /// Of the engine's clock less ours.
    struct range {
        duration least;
        duration most;
        time_point seen;
    };
    std::optional<range> known_;
};

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <algorithm>
#include <chrono>
#include <optional>

/// How long a holder may believe, and when it renews.
///
/// A lease of `ttl` that was asked for at `sent` (the moment *before* the request left) cannot end
/// on the engine before sent + ttl, however long the answer travelled. Two clocks that run at
/// slightly different speeds are allowed for by giving up a little earlier than that.
namespace holdfast {

/// What two clocks may drift apart over a lease: 1 % unless the user says how much, and 2 ms for
/// rounding.
constexpr duration drift_allowance(duration ttl, std::optional<duration> drift = {}) {
    return drift.value_or(ttl / 100) + std::chrono::milliseconds(2);
}

/// Until when a lease may be believed in.
constexpr time_point valid_until(time_point sent, duration ttl,
                                 std::optional<duration> drift = {}) {
    return sent + ttl - drift_allowance(ttl, drift);
}

/// When a lease is renewed: early enough that two renewals in a row may fail, also if much of it is
/// given up for drift.
constexpr time_point renew_at(time_point sent, duration ttl, std::optional<duration> drift = {}) {
    return sent + (drift ? ttl - drift_allowance(ttl, drift) : ttl) / 3;
}

/// What a renewal asks for that must not outlive `end`: `ttl`, or as little as is still believed in
/// until `end`.
constexpr duration ttl_until(time_point end, time_point now, duration ttl,
                             std::optional<duration> drift = {}) {
    if (end == time_point::max()) return ttl;
    constexpr duration least = std::chrono::milliseconds(10);
    const duration left = std::max<duration>(end - now, duration::zero());
    if (left >= ttl) return ttl;
    const duration margin =
        drift.value_or(left / 99 + std::chrono::microseconds(1)) + std::chrono::milliseconds(3);
    return std::min(ttl, std::max(least, left + margin));
}

/// How long after a failed renewal the next try comes: some thirty tries fit into a ttl, but a
/// server in trouble is not asked more than twice a second, nor a quick lease less than each 5 ms.
constexpr duration renewal_retry(duration ttl) {
    return std::clamp<duration>(ttl / 30, std::chrono::milliseconds(5),
                                std::chrono::milliseconds(500));
}

/// For how long an engine may know an owner that asks for nothing any more: a place in the queue,
/// which every engine keeps for less than five seconds, may outlive a short lease.
constexpr duration longest_trace(duration ttl) {
    return std::max<duration>(ttl, std::chrono::seconds(5));
}

/// `when + by` that stays at the end of time instead of wrapping.
constexpr time_point later(time_point when, duration by) {
    return by > time_point::max() - when ? time_point::max() : when + by;
}

}  // namespace holdfast

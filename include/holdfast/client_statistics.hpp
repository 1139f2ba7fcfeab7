// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// Counters of a client since it was opened, and its current state.
namespace holdfast {

/// A histogram of durations by powers of two: bucket i counts durations below 2^(i+1) microseconds
/// that did not fit into the bucket before; the last takes the rest, from two minutes up.
struct duration_histogram {
    static constexpr std::size_t buckets = 28;

    std::array<std::uint64_t, buckets> counts{};
    duration sum{};

    /// The upper bound of bucket i. duration::max() for the last.
    [[nodiscard]] static constexpr duration below(std::size_t bucket) {
        if (bucket + 1 >= buckets) return duration::max();
        return std::chrono::microseconds(std::int64_t{2} << bucket);
    }

    [[nodiscard]] std::uint64_t count() const noexcept;

    /// An upper bound for this share of all durations (0.99: the 99th percentile), accurate to a
    /// factor of two. Zero if there is none yet. Requires: 0 <= share <= 1.
    [[nodiscard]] duration percentile(double share) const noexcept;
};

/// Leases lost, by reason (see loss_reason).
struct loss_counts {
    std::uint64_t expired = 0;
    std::uint64_t missing = 0;
    std::uint64_t evicted = 0;
    std::uint64_t max_hold = 0;
    std::uint64_t closed = 0;
};

/// Waiters, by mode (see lease_mode).
struct waiting_counts {
    std::uint64_t exclusive = 0;
    std::uint64_t shared = 0;
    std::uint64_t permit = 0;
};

struct client_statistics {
    std::uint64_t acquired = 0;          ///< Leases granted.
    std::uint64_t waited = 0;            ///< … of these, after a wait.
    std::uint64_t handed_off = 0;        ///< … of these, by a handoff.
    std::uint64_t passed_on = 0;         ///< … of these, passed on inside this client.
    std::uint64_t refused = 0;           ///< Acquires that ended busy, timed out or cancelled.
    std::uint64_t failed = 0;            ///< Acquires that failed in the engine.
    std::uint64_t released = 0;          ///< Released by release() or a destructor.
    std::uint64_t renewed = 0;           ///< Renewals that succeeded.
    std::uint64_t renewal_failures = 0;  ///< Renewals that did not (each is retried).
    /// How often an engine's clock was found to have been set, forward or back.
    std::uint64_t clock_steps = 0;
    std::uint64_t lost = 0;                  ///< Leases lost, for whatever reason.
    std::uint64_t held = 0;                  ///< Held now.
    std::uint64_t waiting = 0;               ///< Waiting now.
    duration least_slack = duration::max();  ///< The closest a renewal came to its deadline.

    loss_counts lost_by_reason;              ///< They add up to `lost`.
    waiting_counts waiting_by_mode;          ///< They add up to `waiting`.
    duration_histogram waiting_time;         ///< Of acquires that waited and were granted.
    duration_histogram renewal_slack;        ///< How long before its deadline a renewal came.
    std::uint64_t observations_dropped = 0;  ///< Events that the observer was too slow for.
    /// Leases that could not be released and end after their ttl: the engine did not answer before
    /// close() was over, or 100,000 acquires of unknown outcome were being undone already.
    std::uint64_t left_to_ttl = 0;
};

}  // namespace holdfast

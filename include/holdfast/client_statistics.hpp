// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <array>
#include <cstddef>
#include <cstdint>

/// What a client has seen since it was opened: numbers that only grow, and how it stands now.
namespace holdfast {

/// How often a duration was how long, by powers of two: bucket i counts what took less than
/// 2^(i+1) microseconds and did not fit into the bucket before; the last takes the rest, from two
/// minutes up.
struct duration_histogram {
    static constexpr std::size_t buckets = 28;

    std::array<std::uint64_t, buckets> counts{};
    duration sum{};

    /// What bucket i holds is shorter than this. duration::max() for the last.
    [[nodiscard]] static constexpr duration below(std::size_t bucket) {
        if (bucket + 1 >= buckets) return duration::max();
        return std::chrono::microseconds(std::int64_t{2} << bucket);
    }

    [[nodiscard]] std::uint64_t count() const noexcept;

    /// A bound that at least this share of all durations is below (0.99: the 99th percentile),
    /// right to a factor of two. Zero if there is none yet. Requires: 0 <= share <= 1.
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

/// How many stand in line, by how they want to hold it (see lease_mode).
struct waiting_counts {
    std::uint64_t exclusive = 0;
    std::uint64_t shared = 0;
    std::uint64_t permit = 0;
};

struct client_statistics {
    std::uint64_t acquired = 0;          ///< Leases granted to us.
    std::uint64_t waited = 0;            ///< … of these, after standing in line.
    std::uint64_t handed_off = 0;        ///< … of these, woken by a handoff that already was ours.
    std::uint64_t passed_on = 0;         ///< … of these, passed on inside this client.
    std::uint64_t refused = 0;           ///< Acquires that ended busy, timed out or cancelled.
    std::uint64_t failed = 0;            ///< Acquires that ended with the engine's trouble.
    std::uint64_t released = 0;          ///< Given back by release() or a destructor.
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
    duration_histogram waiting_time;         ///< Of acquires that stood in line and were granted.
    duration_histogram renewal_slack;        ///< How long before its deadline a renewal came.
    std::uint64_t observations_dropped = 0;  ///< Events that the observer was too slow for.
    /// What could not be given back and ends by its ttl: the engine did not answer before close()
    /// was over, or 100,000 acquires whose outcome is unknown were being undone already.
    std::uint64_t left_to_ttl = 0;
};

}  // namespace holdfast

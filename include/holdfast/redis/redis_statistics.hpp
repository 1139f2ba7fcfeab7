// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// Counters of a Redis client, and its current state.
namespace holdfast {

/// Counts by powers of two: bucket i counts values in [2^i, 2^(i+1)); the last takes the rest.
template <std::size_t Buckets>
struct power_histogram {
    std::array<std::uint64_t, Buckets> counts{};
};

struct redis_statistics {
    std::uint64_t commands = 0;          ///< Commands given to the engine.
    std::uint64_t hits = 0;              ///< … that found an open connection,
    std::uint64_t misses = 0;            ///< … and that had to wait for one.
    std::uint64_t answered = 0;          ///< Replies read.
    std::uint64_t unknown = 0;           ///< Written, and no reply came.
    std::uint64_t not_sent = 0;          ///< Given up before they were written.
    std::uint64_t repeated = 0;          ///< Sent again: idempotent, never written, or NOSCRIPT.
    std::uint64_t connects = 0;          ///< Connections made,
    std::uint64_t connect_failures = 0;  ///< … and not made.
    std::uint64_t disconnects = 0;       ///< Connections lost or given up.
    std::uint64_t batches = 0;           ///< Writes; commands per write is the batch size.
    std::uint64_t bytes_out = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t pushed = 0;  ///< Messages received by subscriptions.

    std::uint64_t total_connections = 0;  ///< Open now: shared, sessions and subscriber.
    std::uint64_t in_flight = 0;          ///< Commands written and not answered, now.
    std::uint64_t queued = 0;             ///< Commands not yet written, now.

    power_histogram<16> batch_size;
    power_histogram<24> round_trip_us;  ///< From the write of a batch to its first reply.
};

}  // namespace holdfast

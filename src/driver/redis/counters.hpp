// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/redis/redis_statistics.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

/// The numbers behind redis_statistics, counted by many threads without a lock.
namespace holdfast::redis {

/// A number that is only ever added to; nobody orders anything by it.
class tally {
public:
    void add(std::uint64_t by = 1) noexcept { value_.fetch_add(by, std::memory_order_relaxed); }
    void take(std::uint64_t by = 1) noexcept { value_.fetch_sub(by, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t get() const noexcept {
        return value_.load(std::memory_order_relaxed);
    }

private:
    std::atomic<std::uint64_t> value_{0};
};

template <std::size_t Buckets>
class histogram_tally {
public:
    void add(std::uint64_t value) noexcept {
        const auto bucket = static_cast<std::size_t>(std::bit_width(value | 1) - 1);
        counts_[std::min(bucket, Buckets - 1)].add();
    }
    void read(power_histogram<Buckets>& out) const noexcept {
        for (std::size_t i = 0; i < Buckets; ++i) out.counts[i] += counts_[i].get();
    }

private:
    std::array<tally, Buckets> counts_;
};

struct counters {
    tally commands, hits, misses, answered, unknown, not_sent, repeated;
    tally connects, connect_failures, disconnects, batches, bytes_out, bytes_in, pushed;
    tally open_connections;
    histogram_tally<16> batch_size;
    histogram_tally<24> round_trip_us;

    void read(redis_statistics& out) const noexcept {
        out.commands += commands.get();
        out.hits += hits.get();
        out.misses += misses.get();
        out.answered += answered.get();
        out.unknown += unknown.get();
        out.not_sent += not_sent.get();
        out.repeated += repeated.get();
        out.connects += connects.get();
        out.connect_failures += connect_failures.get();
        out.disconnects += disconnects.get();
        out.batches += batches.get();
        out.bytes_out += bytes_out.get();
        out.bytes_in += bytes_in.get();
        out.pushed += pushed.get();
        out.total_connections += open_connections.get();
        batch_size.read(out.batch_size);
        round_trip_us.read(out.round_trip_us);
    }
};

}  // namespace holdfast::redis

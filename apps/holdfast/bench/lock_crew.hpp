// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Workers that take and give back names of their own: threads or coroutines that share a client,
/// or processes with a client each.
///
/// At full speed on the embedded engine only every 16th pair is timed: the clock reads would be
/// seen in the rate. At a fixed rate each pair has a moment at which it is due, and its latency
/// counts from then: a pair that had to wait for a slow one before it does not look fast.
namespace holdfast::app {

struct crew_options {
    enum class kind : std::uint8_t { threads, processes, tasks };
    kind of = kind::threads;
    int workers = 1;
    int rate = 0;   ///< Pairs a second, all together; 0: as fast as they can.
    int names = 1;  ///< Taken and given back together by each worker.
    std::string lock_kind = "mutex";
    std::chrono::milliseconds length{};
    int timed_each = 1;  ///< One pair of so many.
    /// Called when all are connected and ready, before the clock starts.
    std::function<void()> when_ready{};
};

struct crew_result {
    std::uint64_t pairs = 0;
    double seconds = 0;
    double cpu_seconds = 0;  ///< Of all workers' processes.
    std::vector<std::uint64_t> per_worker;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::vector<float> pair_us;
    double longest_acquire_us = 0;          ///< Of those that were timed.
    std::optional<std::uint64_t> commands;  ///< Sent, if the engine is a Redis.
};

/// Errors: the first that a worker met; unsupported, if these workers cannot do that.
/// Requires: for processes, this process has no other thread.
[[nodiscard]] result<crew_result> run_lock_crew(const std::string& url,
                                                const crew_options& options);

/// The kinds of lock that it knows.
[[nodiscard]] std::vector<std::string> lock_kinds();

}  // namespace holdfast::app

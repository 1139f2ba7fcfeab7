// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Workers that take and give back names of their own: threads or coroutines that share a client,
/// or processes with a client each.
///
/// At full speed only every 16th pair is timed: on the embedded engine the clock reads would be
/// seen in the rate. At a fixed rate each pair has a moment at which it is due, and its latency
/// counts from then: a pair that had to wait for a slow one before it does not look fast.
namespace holdfast::app {

struct crew_options {
    enum class kind : std::uint8_t { threads, processes, tasks };
    kind of = kind::threads;
    int workers = 1;
    int rate = 0;  ///< Pairs a second, all together; 0: as fast as they can.
    std::chrono::milliseconds length{};
};

struct crew_result {
    std::uint64_t pairs = 0;
    double seconds = 0;
    double cpu_seconds = 0;  ///< Of all workers' processes.
    std::vector<std::uint64_t> per_worker;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::optional<std::uint64_t> commands;  ///< Sent, if the engine is a Redis.
};

/// Errors: the first that a worker met.
/// Requires: for processes, this process has no other thread.
[[nodiscard]] result<crew_result> run_lock_crew(const std::string& url, std::string_view lock_kind,
                                                const crew_options& options);

/// The kinds of lock that it knows.
[[nodiscard]] std::vector<std::string> lock_kinds();

}  // namespace holdfast::app

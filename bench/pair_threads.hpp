// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "raw_pairs.hpp"

#include <holdfast/clock.hpp>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

/// Threads that do pairs of take and give back for a time, and what they saw.
namespace holdfast::bench {

/// What one worker saw; latencies in microseconds.
struct worker_log {
    std::vector<float> pairs;
    std::uint64_t failures = 0;
    std::string first_failure;

    void time(duration d) { pairs.push_back(static_cast<float>(d.count()) / 1000.0F); }
    void failed(const std::string& why) {
        if (failures++ == 0) first_failure = why;
    }
};

/// CPU seconds that this process has used, all threads.
[[nodiscard]] double cpu_seconds();

[[nodiscard]] pairs_result summary(std::string way, int workers,
                                   const std::vector<worker_log>& logs, double seconds, double cpu);

/// Runs `work(id, log, stop)` on threads for the given time.
template <class Work>
pairs_result on_threads(std::string way, const pairs_options& options, const Work& work) {
    std::vector<worker_log> logs(static_cast<std::size_t>(options.workers));
    std::atomic<bool> stop = false;
    const time_point start = system_clock().now();
    const double cpu = cpu_seconds();
    std::vector<std::jthread> threads;
    for (int id = 0; id < options.workers; ++id) {
        worker_log& log = logs[static_cast<std::size_t>(id)];
        log.pairs.reserve(1 << 16);
        threads.emplace_back([&, id] { work(id, log, stop); });
    }
    std::this_thread::sleep_for(options.length);
    stop = true;
    threads.clear();
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    return summary(std::move(way), options.workers, logs, seconds, cpu_seconds() - cpu);
}

}  // namespace holdfast::bench

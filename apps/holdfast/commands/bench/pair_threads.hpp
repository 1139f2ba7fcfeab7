// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/pace.hpp"
#include "commands/bench/raw_pairs.hpp"

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
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    std::uint64_t commands = 0;  ///< Sent; a way that does not know them counts none.
    std::uint64_t failures = 0;
    std::string first_failure;

    void time(duration acquire, duration release) {
        acquire_us.push_back(static_cast<float>(acquire.count()) / 1000.0F);
        release_us.push_back(static_cast<float>(release.count()) / 1000.0F);
    }
    void failed(const std::string& why) {
        if (failures++ == 0) first_failure = why;
    }
};

/// CPU seconds that this process has used, all threads.
[[nodiscard]] double cpu_seconds();

[[nodiscard]] pairs_result summary(std::string way, int workers,
                                   const std::vector<worker_log>& logs, double seconds, double cpu);

/// Puts the values in order for it. Zeros if there are none.
[[nodiscard]] two_points points_of(std::vector<float>& values);

/// Runs `work(id, log, turns)` on threads for the given time.
template <class Work>
pairs_result on_threads(std::string way, const pairs_options& options, const Work& work) {
    std::vector<worker_log> logs(static_cast<std::size_t>(options.workers));
    std::atomic<bool> stop = false;
    const time_point start = system_clock().now();
    const double cpu = cpu_seconds();
    std::vector<std::jthread> threads;
    for (int id = 0; id < options.workers; ++id) {
        worker_log& log = logs[static_cast<std::size_t>(id)];
        log.acquire_us.reserve(1 << 16);
        log.release_us.reserve(1 << 16);
        threads.emplace_back([&, id] {
            turns mine({start, options.workers, options.rate}, id, stop, start + options.length);
            work(id, log, mine);
        });
    }
    std::this_thread::sleep_for(options.length);
    stop = true;
    threads.clear();
    const double seconds = std::chrono::duration<double>(system_clock().now() - start).count();
    return summary(std::move(way), options.workers, logs, seconds, cpu_seconds() - cpu);
}

}  // namespace holdfast::bench

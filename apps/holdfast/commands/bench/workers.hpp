// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Workers that run one operation again and again: threads that share a client, or processes with a
/// client each.
///
/// At full speed on the embedded engine only every 16th operation is timed: the clock reads would
/// be seen in the rate. At a fixed rate each operation has a moment at which it is due, and its
/// latency counts from then: one that had to wait for a slow one before it does not look fast.
namespace holdfast::app {

struct worker_setup {
    enum class kind : std::uint8_t { threads, processes, tasks };
    kind of = kind::threads;
    int workers = 1;
    int rate = 0;  ///< Errands a second, all together; 0: as fast as they can.
    std::chrono::milliseconds length{};
    int timed_each = 1;  ///< One operation of so many.
    /// Called when all are connected and ready, before the clock starts.
    std::function<void()> when_ready{};
};

struct worker_result {
    std::uint64_t done = 0;
    double seconds = 0;
    double cpu_seconds = 0;  ///< Of all workers' processes.
    std::vector<std::uint64_t> per_worker;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
    double longest_acquire_us = 0;          ///< Of those that were timed.
    std::optional<std::uint64_t> commands;  ///< Sent, if the engine is a Redis.

    /// Acquire and release together.
    [[nodiscard]] std::vector<float> pair_us() const;
};

/// One worker's operation, in one step or in two.
class operation {
public:
    operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    virtual ~operation() = default;

    /// Timed as acquire.
    [[nodiscard]] virtual result<void> take() = 0;

    /// Timed as release. An operation that takes for good has nothing to give back.
    [[nodiscard]] virtual result<void> release() { return {}; }
};

/// Makes a worker's operation, by the worker's number …
using operation_maker = std::function<std::unique_ptr<operation>(int worker)>;

/// … and is itself made once for each client, by whatever its workers shall share.
using worker_plan = std::function<operation_maker(client& on)>;

/// Errors: the first that a worker met.
/// Requires: no tasks; for processes, this process has no other thread.
[[nodiscard]] result<worker_result> run_workers(const std::string& url, const worker_setup& options,
                                                const worker_plan& plan);

}  // namespace holdfast::app

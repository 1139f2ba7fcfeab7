// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <variant>
#include <vector>

/// Pairs of acquire and release by coroutines that share one thread and one client.
namespace holdfast::bench {

/// A shared_mutex is taken by readers, a semaphore one permit at a time.
using task_lock = std::variant<mutex, shared_mutex, semaphore>;

struct task_log {
    std::uint64_t pairs = 0;
    std::vector<float> acquire_us;
    std::vector<float> release_us;
};

/// A log for each of `locks`. `due(task, pair)` says when a task's pair is due; time_point::min()
/// for at once. Errors: the first that a task met.
[[nodiscard]] result<std::vector<task_log>> lock_pairs_by_coroutines(
    std::span<const std::unique_ptr<task_lock>> locks, std::chrono::milliseconds length,
    const std::function<time_point(int task, std::uint64_t pair)>& due);

}  // namespace holdfast::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/workers.hpp"

#include <string>
#include <vector>

/// Workers that take and give back names of their own: threads or coroutines that share a client,
/// or processes with a client each.
namespace holdfast::app {

struct lock_worker_options {
    worker_setup worker_group;
    int names = 1;  ///< Taken and given back together by each worker.
    std::string lock_kind = "mutex";
};

/// Errors: the first that a worker met; unsupported, if these workers cannot do that.
/// Requires: for processes, this process has no other thread.
[[nodiscard]] result<worker_result> run_lock_workers(const std::string& url,
                                                     const lock_worker_options& options);

/// The kinds of lock that it knows.
[[nodiscard]] std::vector<std::string> lock_kinds();

}  // namespace holdfast::app

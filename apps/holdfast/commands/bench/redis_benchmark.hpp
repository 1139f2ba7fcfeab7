// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/server_account.hpp"

#include <holdfast/error.hpp>

#include <string>

/// redis-benchmark as a reference: what the server can do at most for one command.
namespace holdfast::app {

struct benchmark_rate {
    double per_second = 0;
    double server_cpu_us = 0;  ///< For each command, by the server's own account.
};

/// 64 connections, 16 commands in each pipeline. `__rand_int__` in the command becomes one of
/// `keys` numbers of twelve digits.
/// Errors: unavailable, if it cannot be run.
[[nodiscard]] result<benchmark_rate> run_redis_benchmark(const server_place& where,
                                                         const std::string& command, int keys);

}  // namespace holdfast::app

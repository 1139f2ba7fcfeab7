// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/engine/command_engine.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

/// The cost of a lock without the lock: pairs of SET NX PX and a compare-and-delete script, each
/// worker on a key of its own, by different ways to the same server.
namespace holdfast::bench {

struct pairs_options {
    int workers = 64;
    std::chrono::milliseconds length = std::chrono::seconds(2);
    int rate = 0;  ///< Pairs a second, all together; 0: as fast as they can.
    /// All want one name; otherwise each has its own. Only locks of sessions can be waited for.
    bool contended = false;
};

/// From so many workers on, the reference is redis-benchmark with pipelines.
inline constexpr int workers_that_fill_a_pipeline = 64;

struct two_points {
    double p50 = 0;
    double p99 = 0;
};

struct pairs_result {
    std::string way;
    int workers = 0;
    double pairs_per_second = 0;
    double p50_us = 0;
    double p99_us = 0;
    two_points acquire_us{};  ///< Of the first command of a pair,
    two_points release_us{};  ///< … and of the second.
    std::vector<std::uint64_t> per_worker{};
    std::uint64_t commands = 0;  ///< Where the way itself counts them.
    double client_cpu_us = 0;    ///< This process's CPU time per pair, all threads.
    std::uint64_t failures = 0;
    std::string first_failure{};
};

/// Deletes KEYS[1] if it still holds ARGV[1].
[[nodiscard]] const script& compare_and_delete();

/// The two commands of one pair, on the worker's own key, one after the other.
class pair_words {
public:
    explicit pair_words(int worker);

    [[nodiscard]] result<void> take(command_engine& on) const;
    [[nodiscard]] result<void> release(command_engine& on) const;

private:
    std::string key_;
    std::string owner_;
};

/// Threads that share one engine.
[[nodiscard]] pairs_result pairs_by_threads(command_engine& engine, const pairs_options& options);

/// Coroutines on one thread that share one engine.
[[nodiscard]] pairs_result pairs_by_coroutines(command_engine& engine,
                                               const pairs_options& options);

/// What one would write by hand: a blocking hiredis connection for each thread.
[[nodiscard]] pairs_result pairs_by_blocking_pool(const std::string& host, std::uint16_t port,
                                                  const pairs_options& options);

/// What redis-benchmark -c 64 -P 16 reaches with the two commands, as pairs: 1 / (1/set +
/// 1/delete). All that it sets are new, and 85 of 100 deletions find their key: a pair that is
/// refused is cheaper than one that is carried out.
/// Errors: unavailable, if redis-benchmark cannot be run, or the server takes no more keys.
[[nodiscard]] result<double> benchmark_pair_limit(const std::string& host, std::uint16_t port);

/// Commands a second by redis-benchmark: 64 connections, 16 commands in each pipeline.
/// `__rand_int__` in the command becomes one of `keys` numbers of twelve digits.
/// Errors: unavailable, if it cannot be run.
[[nodiscard]] result<double> redis_benchmark_rate(const std::string& host, std::uint16_t port,
                                                  int requests, int keys,
                                                  const std::string& command);

/// The results as one JSON document.
[[nodiscard]] std::string to_json(const std::vector<pairs_result>& results, double limit);

}  // namespace holdfast::bench

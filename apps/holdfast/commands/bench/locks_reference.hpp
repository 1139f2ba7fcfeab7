// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/bench_engine.hpp"
#include "commands/bench/lock_workers.hpp"
#include "commands/bench/raw_pairs.hpp"

#include <optional>
#include <string>

/// What `bench locks` compares with: the same pairs by something well known.
///
///     several names      Holdfast itself with one name, on the same engine; and, if that is one
///                        Redis, blocking hiredis with one name
///     redlock:           Holdfast itself on a single Redis; and blocking hiredis on that one
///     sqlite:            prepared statements by hand, on a file in the same place
///     postgresql:        prepared statements by hand, on a table in the same database
///     mysql:             the same; with mode=session of both, advisory locks or GET_LOCK
///     etcd:              transactions by hand, on keys beside, by the same gRPC client
///     zookeeper:         the recipe of its documentation by hand, by the same client library
///     64 workers, Redis  redis-benchmark
///     otherwise          a blocking hiredis connection for each worker
///
/// The last five have no fence, no line and no keeper.
namespace holdfast::app {

class locks_reference {
public:
    struct round {
        double per_second = 0;
        std::optional<double> server_cpu_us{};  ///< For each pair.
        std::optional<double> acquire_us{};     ///< Medians.
        std::optional<double> pair_us{};
        std::optional<double> by_hand_pair_us{};  ///< On the same server, blocking.
    };

    /// Requires: both outlive it.
    locks_reference(const bench_engine& engine, const lock_worker_options& worker_group)
        : engine_(engine), worker_group_(worker_group) {}

    [[nodiscard]] std::string name() const;

    /// As long as one of the worker group. Errors: unavailable; as run_lock_workers().
    [[nodiscard]] result<round> run() const;

private:
    enum class way : std::uint8_t {
        one_name,
        single_redis,
        by_hand_in_a_file,
        by_hand_in_a_database,
        pipelined,
        blocking
    };
    [[nodiscard]] way chosen() const;
    [[nodiscard]] result<round> of_ourselves(const std::string& url, int names) const;
    [[nodiscard]] result<round> one_name() const;
    [[nodiscard]] result<round> on_a_single_redis() const;
    [[nodiscard]] result<round> beside_blocking(round ours) const;
    [[nodiscard]] result<round> by_hand() const;
    [[nodiscard]] result<round> blocking() const;
    [[nodiscard]] result<bench::pairs_result> blocking_pairs() const;
    [[nodiscard]] result<round> pipelined() const;

    const bench_engine& engine_;
    const lock_worker_options& worker_group_;
};

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/bench/bench_engine.hpp"
#include "commands/bench/figure.hpp"
#include "commands/bench/workers.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Rounds of one thing and its reference in turns, and the figure that is made of them.
namespace holdfast::app {

/// One round: what the workers did, and what each operation cost the server.
struct measured_round {
    worker_result seen;
    std::optional<double> server_cpu_us{};

    [[nodiscard]] double per_second() const;
};

/// The server's account begins when the workers are connected and ready.
/// Errors: as run_workers(); unavailable, if nothing was done in the whole round.
[[nodiscard]] result<measured_round> measure_round(const bench_engine& engine, worker_setup setup,
                                                   const worker_plan& plan);

/// What some rounds saw.
class round_log {
public:
    /// A round of ours; its reference comes next, if there is one.
    void add(const measured_round& ours);
    /// One that somebody else measured.
    void add(double per_second, double server_cpu_us);
    void add_reference(double per_second, std::optional<double> server_cpu_us = std::nullopt);
    /// The same, when its latencies count too.
    void add_reference(const measured_round& reference);
    /// Of another thing than ours: not to be compared.
    void forget_reference_cpu() { reference_cpu_.clear(); }

    /// Fills in `known` what was measured.
    [[nodiscard]] figure summary(figure known, std::string reference);

private:
    std::vector<double> rates_;
    std::vector<double> ratios_;
    std::vector<double> references_;
    std::vector<double> client_cpu_;
    std::vector<double> server_cpu_;
    std::vector<double> reference_cpu_;
    std::vector<double> reference_client_cpu_;
    std::vector<double> commands_;
    std::vector<float> latency_us_;
    std::vector<float> reference_us_;
    std::vector<std::uint64_t> per_worker_;
};

}  // namespace holdfast::app

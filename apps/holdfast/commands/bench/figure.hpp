// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// One measured figure, for people and for machines.
///
/// A rate alone says little on a machine of unknown mood, so a figure carries the rate of something
/// well known that was measured in the same run, in turns with it, and the ratio of the two.
namespace holdfast::app {

struct percentiles {
    double p50 = 0;
    double p99 = 0;
    std::optional<double> max{};  ///< Only where it was asked for: it is one sample's word.
};

struct reference_rate {
    std::string name;
    double per_second = 0;
    std::optional<double> server_cpu_us{};  ///< For each, by the server's own account.
    std::optional<double> acquire_us{};     ///< Medians.
    std::optional<double> pair_us{};
    /// Of a quorum's: what a pair takes by hand, blocking, on its server.
    std::optional<double> by_hand_pair_us{};
    std::optional<double> client_cpu_us{};
    std::optional<double> p99_us{};  ///< Of its latencies, where ours are held against them.
};

/// Our medians over the reference's, where these are what counts.
struct latency_ratios {
    std::optional<double> acquire{};
    double pair = 0;
    std::optional<double> pair_by_hand{};
};

struct extent {
    std::uint64_t min = 0;
    std::uint64_t max = 0;
};

struct spread {
    double min = 0;
    double max = 0;
};

/// What the host of a virtual machine did to a measurement.
struct disturbance {
    double stolen_cpus = 0;  ///< What it took in the rounds that count, in processors.
    int rounds_again = 0;    ///< Rounds that do not count, because it took more in them.
};

/// What does not apply to a measurement is left out of both forms.
struct figure {
    std::string bench;
    std::string engine;
    int workers = 1;
    double seconds = 0;
    std::optional<std::string> cpus{};  ///< "apart", if the server had a processor of its own.
    std::optional<double> per_second{};
    std::optional<reference_rate> reference{};
    std::optional<double> ratio{};         ///< The median of the rounds' own ratios …
    std::optional<spread> ratio_rounds{};  ///< … and how far these lie apart: distrust a wide one.
    std::optional<disturbance> disturbed{};
    std::optional<latency_ratios> latency_ratio{};
    std::optional<double> client_cpu_us{};     ///< This process's CPU time per operation.
    std::optional<double> server_cpu_us{};     ///< The server's.
    std::optional<double> server_cpu_ratio{};  ///< That over the reference's: the rounds' median.
    std::optional<double> p99_ratio{};         ///< Our p99 over the reference's.
    std::optional<percentiles> acquire_us{};
    std::optional<percentiles> release_us{};
    std::optional<percentiles> pair_us{};
    std::optional<percentiles> handoff_us{};
    std::optional<percentiles> writer_wait_us{};  ///< Among readers …
    std::optional<double> reader_hold_us{};       ///< … that held it for so long in the mean,
    std::optional<double> writer_bound_us{};      ///< … and what the longest wait is held against.
    /// The median handoff, in round trips of one blocking connection in the same run.
    std::optional<double> handoff_round_trips{};
    std::optional<extent> per_worker{};
    std::optional<double> commands_per_op{};
    std::optional<double> value_bytes{};  ///< What is stored for a key, besides the key.
    std::optional<int> leases{};
    std::optional<double> cpu_percent{};  ///< Of one core, while the leases were kept.
    std::optional<std::uint64_t> renewed{};
    std::optional<std::uint64_t> lost{};
    std::optional<double> least_slack_ms{};
};

/// One object on one line.
[[nodiscard]] std::string to_json(const figure& f);

/// A heading and a row for each thing known.
[[nodiscard]] std::string to_table(const figure& f);

/// Of any values, which are put in order for it. Zeros if there are none.
[[nodiscard]] percentiles percentiles_of(std::vector<float>& values);

[[nodiscard]] double median(std::vector<double> values);

/// Nothing of nothing: what was not measured is left out of a figure.
[[nodiscard]] std::optional<double> median_if_any(const std::vector<double>& values);

/// Requires: there are values.
[[nodiscard]] spread spread_of(const std::vector<double>& values);

}  // namespace holdfast::app

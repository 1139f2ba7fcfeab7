// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_options.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// What each server of an ensemble says of itself, for a doctor.
namespace holdfast::zookeeper {

struct server_report {
    std::string label;         ///< "host:port"
    std::string version = {};  ///< "3.8.0"; empty: it does not answer `srvr`, but listens.
    std::string mode = {};     ///< "leader", "follower", "standalone"; empty: it serves nobody now.
    std::string latency =
        {};  ///< "0/1.5/20": shortest, mean, longest answer in ms since it started.
    std::uint64_t outstanding = 0;
    std::uint64_t nodes = 0;
};

struct ensemble_report {
    std::vector<result<server_report>> servers;  ///< In the order of the options.
    result<void> session;                        ///< Whether one could be made …
    duration shortest = duration::zero();        ///< … and between which timeouts.
    duration longest = duration::zero();
    duration write_time = duration::zero();  ///< Of one write that a majority keeps.
};

/// Reads what a server answers to `srvr`.
[[nodiscard]] server_report read_srvr(std::string label, const std::string& text);

/// Blocks: until all have answered, at most until about `give_up`. Makes the root node, and in it
/// a node that it removes.
[[nodiscard]] ensemble_report report_on(const zookeeper_options& options, clock& time,
                                        time_point give_up);

}  // namespace holdfast::zookeeper

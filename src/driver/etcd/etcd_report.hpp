// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_options.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

/// What each server of a cluster says of itself, for a doctor.
namespace holdfast::etcd {

struct server_report {
    std::string label;    ///< "host:port"
    std::string version;  ///< "3.4.23"
    std::uint64_t member = 0;
    std::uint64_t leader = 0;  ///< 0: it knows none.
    std::int64_t revision = 0;
    std::int64_t stored_bytes = 0;
    std::vector<std::string> alarms;
};

struct cluster_report {
    std::vector<result<server_report>> servers;  ///< In the order of the options.
    std::size_t members = 0;                     ///< Of the whole cluster; 0: nobody says.
    duration write_time = duration::zero();      ///< Of one write that a majority keeps.
};

/// Blocks: until all have answered, at most until `give_up`. Writes nothing but a lease of no use,
/// which it revokes.
/// Errors: invalid_argument (a certificate that cannot be read).
[[nodiscard]] result<cluster_report> report_on(const etcd_options& options, clock& time,
                                               time_point give_up);

}  // namespace holdfast::etcd

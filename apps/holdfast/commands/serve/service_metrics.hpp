// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "net/server.hpp"

#include <holdfast/prometheus.hpp>
#include <holdfast/push/counters.hpp>

#include <cstdint>
#include <string>

/// The service's figures as Prometheus reads them.
namespace holdfast::app {

[[nodiscard]] std::string metrics_text(const push::counters& push, const net::server_counters& net,
                                       std::uint64_t log_lines);

[[nodiscard]] std::string queue_metric(std::uint64_t length);

}  // namespace holdfast::app

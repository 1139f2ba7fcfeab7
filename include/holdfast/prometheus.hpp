// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client_statistics.hpp>
#include <holdfast/error.hpp>

#include <span>
#include <string>

/// A client's statistics as text for Prometheus (exposition format 0.0.4).
///
///     auto text = holdfast::to_prometheus(hf.statistics(), {{{"service", "orders"}}});
///
/// Serve it from your own metrics endpoint, as `text/plain; version=0.0.4`.
namespace holdfast {

struct metric_label {
    std::string name;
    std::string value;  ///< Any UTF-8 text: it is escaped.
};

/// Every metric starts with `holdfast_`; times are in seconds. The labels are put on each sample,
/// in the order given.
/// Errors: invalid_argument: a label's name is not one, is `le` or `reason` (used by the metrics
/// themselves), starts with two underscores (Prometheus keeps these for itself) or comes twice; or
/// its value is not UTF-8.
[[nodiscard]] result<std::string> to_prometheus(const client_statistics& seen,
                                                std::span<const metric_label> labels = {});

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/serve/ops_series.hpp"
#include "commands/serve/ops_view.hpp"

#include <string>

/// What an operator sees, as JSON for the page (docs/reference/ops_api.md).
namespace holdfast::app {

[[nodiscard]] std::string rooms_json(const ops_view& view);
[[nodiscard]] std::string locks_json(const ops_view& view);
[[nodiscard]] std::string leases_json(const client_statistics& seen);
[[nodiscard]] std::string health_json(const ops_view& view);
[[nodiscard]] std::string troubles_json(const ops_view& view);
[[nodiscard]] std::string series_json(const ops_series::part& part);

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/ordered/queue_order.hpp"

#include <holdfast/lease_info.hpp>

#include <functional>
#include <optional>
#include <string>

namespace holdfast::ordered {

/// How long a lease lasts yet; nothing if that is not known.
using remaining_time = std::function<std::optional<duration>(std::int64_t lease)>;

enum class with_queue : std::uint8_t { no, yes };

/// Describes a name for people. Requires: the queue is not empty.
[[nodiscard]] lease_info describe(std::string name, const queue_order& queue,
                                  const remaining_time& remaining, with_queue detail);

}  // namespace holdfast::ordered

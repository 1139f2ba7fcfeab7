// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/memory/value.hpp"

#include <cstddef>
#include <string_view>

/// About how many bytes a key and what it holds take.
///
/// A string is measured; a container is measured by a few of its elements, the oldest and the
/// newest, times their number, as Redis's MEMORY USAGE does. So it costs the same however much the
/// key holds, and is off for a container whose elements differ much in size.
namespace holdfast::memory {

[[nodiscard]] std::size_t estimated_bytes(std::string_view key, const value& v);

}  // namespace holdfast::memory

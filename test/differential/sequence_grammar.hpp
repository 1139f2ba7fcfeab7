// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "differential/operation.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

/// A whole random sequence for one seed: pipelines, transactions on sessions with WATCH, scripts,
/// expiry that really passes, and at the end a look at everything that is stored.
namespace holdfast::test {

/// The same for the same seed. At least `commands` long.
[[nodiscard]] std::vector<operation> draw_sequence(std::uint64_t seed, std::size_t commands);

}  // namespace holdfast::test

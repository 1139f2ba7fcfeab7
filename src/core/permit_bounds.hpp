// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/error.hpp>
#include <holdfast/lease_mode.hpp>

#include <cstdint>
#include <optional>

/// How many permits there can be, on every engine alike. What does not fit is answered with
/// invalid_argument before anything is sent. How many there are is known to the engine alone:
/// resize() may have changed what the caller's semaphore says.
namespace holdfast::detail {

/// A semaphore of so many permits.
[[nodiscard]] std::optional<error> unfit_limit(std::uint32_t limit);

/// So many at once, whatever the caller says that there are. Requires: `mode` is of permits.
[[nodiscard]] std::optional<error> unfit_permits(const lease_mode& mode);

}  // namespace holdfast::detail

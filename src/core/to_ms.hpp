// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <chrono>
#include <cstdint>

namespace holdfast::detail {

/// The milliseconds that a server is told. Rounded up, so that a lease never ends there before its
/// client treats it as expired.
[[nodiscard]] constexpr std::int64_t to_ms(duration d) noexcept {
    return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

}  // namespace holdfast::detail

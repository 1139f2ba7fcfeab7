// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace holdfast {

/// How a name is held.
struct lease_mode {
    enum class kind : std::uint8_t { exclusive, shared, permit };
    kind type = kind::exclusive;
    std::uint32_t permits = 1;  ///< For `permit`: how many are taken …
    std::uint32_t limit = 1;    ///< … of how many there are.

    friend bool operator==(const lease_mode&, const lease_mode&) = default;
};

}  // namespace holdfast

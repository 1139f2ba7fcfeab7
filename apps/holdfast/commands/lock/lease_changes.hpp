// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease_info.hpp>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

/// What happened between two looks at the same names. Pure.
///
/// Looks are moments: what began and ended between two of them was not seen, and of a name that has
/// another holder now only the last handoff was.
namespace holdfast::app {

struct lease_change {
    enum class kind : std::uint8_t {
        held,  ///< It was so at the first look.
        acquired,
        handed_off,  ///< It was held before, and someone waited.
        left,        ///< One of several holders is gone, and nobody came.
        waiting,     ///< The same holders; more or fewer wait.
        evicted,     ///< Someone took it away.
        free,        ///< Released, or its time was over: from outside they look the same.
    };
    kind type;
    lease_info now;       ///< For `free`: its name alone. `evicted`: as it was.
    lease_info before{};  ///< As it was, with those holders alone who do not hold it any more.
};

[[nodiscard]] std::string_view to_string(lease_change::kind type) noexcept;

/// Without `held` and `evicted`, which two looks do not tell.
/// Requires: both are in the order of names.
[[nodiscard]] std::vector<lease_change> changes_between(std::span<const lease_info> before,
                                                        std::span<const lease_info> after);

}  // namespace holdfast::app

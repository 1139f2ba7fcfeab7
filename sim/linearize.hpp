// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "timeline.hpp"

#include <cstdint>
#include <optional>
#include <vector>

/// Is there an order in which all that was seen could have happened one after the other?
///
/// The object is a lock with a fence: it is free or has a holder, and knows the last fence. An
/// operation takes effect at one instant between its call and its return; one that never returned,
/// or whose outcome is unknown, may take effect at any later time, or not at all. The search is
/// that of Wing and Gong, with Lowe's memory of the configurations that led nowhere: a set of
/// operations that have taken effect, and the state they left.
namespace holdfast::sim {

struct lock_operation {
    enum class kind : std::uint8_t {
        acquire,  ///< Free, and the fence is above the last: then `holder` holds it.
        end,      ///< `holder` held it: then it is free.
        refused,  ///< Somebody else than `holder` held it.
    };
    kind what = kind::acquire;
    std::uint64_t holder = 0;
    std::uint64_t fence = 0;  ///< 0: not known, any that fits.
    moment called{};
    moment returned = moment::max();
    bool must_happen = true;
};

/// Nothing if there is an order; else the operations of the longest attempt's first dead end. The
/// search gives up, and finds nothing wrong, after `most` configurations.
struct linearization {
    bool possible = true;
    bool given_up = false;
    std::vector<std::size_t> stuck_at;  ///< None of these could come next.
};

[[nodiscard]] linearization linearize(const std::vector<lock_operation>& all, std::size_t most);

}  // namespace holdfast::sim

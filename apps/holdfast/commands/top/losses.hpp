// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease_info.hpp>

#include <cstdint>
#include <map>
#include <span>

/// How many leases ended by their time and not by their holder, as far as looks can tell.
///
/// From outside, a lease that was given back and one that ran out are both gone. But a holder that
/// lives renews at every third of its ttl: one that was seen with less than half of the most it
/// ever had, and had no more left than passed until it was gone, was not kept. A lease that is
/// shorter than the time between two looks is not judged. So this says too little, never too much.
namespace holdfast::app {

class loss_watch {
public:
    /// How many were lost since the last look, `passed` ago; 0 at the first.
    [[nodiscard]] std::uint64_t look(std::span<const lease_info> seen, duration passed);

private:
    struct holding {
        duration left;
        duration most;
    };
    using holdings = std::map<std::uint64_t, holding>;  ///< By their fences.

    std::map<std::string, holdings> before_;
};

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#include "core/require.hpp"

#include <holdfast/client_statistics.hpp>

#include <cmath>
#include <numeric>

namespace holdfast {

std::uint64_t duration_histogram::count() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

duration duration_histogram::percentile(double share) const noexcept {
    detail::require(share >= 0 && share <= 1, "0 <= share <= 1");
    const std::uint64_t all = count();
    if (all == 0) return duration::zero();
    const double wanted = std::ceil(share * static_cast<double>(all));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        seen += counts[i];
        if (seen > 0 && static_cast<double>(seen) >= wanted) return below(i);
    }
    return below(buckets - 1);
}

}  // namespace holdfast

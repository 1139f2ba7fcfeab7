// SPDX-License-Identifier: Apache-2.0
#include "core/clock_watch.hpp"

#include <algorithm>

namespace holdfast::detail {
namespace {

// As much as a lease allows for: 1 % (validity.hpp).
constexpr std::int64_t drift_divisor = 100;

}  // namespace

duration clock_watch::see(const sample& now, duration allowed) {
    const duration shown = now.engine.time_since_epoch();
    const range fresh{.least = shown - now.heard.time_since_epoch(),
                      .most = shown - now.sent.time_since_epoch(),
                      .seen = now.heard};
    if (!known_) {
        known_ = fresh;
        return duration::zero();
    }
    const range old = *known_;
    const duration drift =
        std::max<duration>(now.heard - old.seen, duration::zero()) / drift_divisor;
    const duration forward = fresh.least - (old.most + drift);
    const duration back = (old.least - drift) - fresh.most;
    if (forward <= duration::zero() && back <= duration::zero()) {
        known_ = range{.least = std::max(old.least - drift, fresh.least),
                       .most = std::min(old.most + drift, fresh.most),
                       .seen = std::max(old.seen, now.heard)};
        return duration::zero();
    }
    known_ = fresh;
    if (std::max(forward, back) <= allowed) return duration::zero();
    return (fresh.least + fresh.most) / 2 - (old.least + old.most) / 2;
}

}  // namespace holdfast::detail

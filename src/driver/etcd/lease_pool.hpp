// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::etcd {

/// A lease of etcd, as its client knows it.
struct etcd_lease {
    std::int64_t id = 0;
    std::int64_t ttl_s = 0;
    time_point ends = time_point::min();  ///< Not before this, by our clock.
};

/// Leases that nothing is attached to any more, for the next owner with the same ttl.
///
/// Each owner has a lease of its own, because each is renewed, and dies, by itself. To grant one
/// costs as much as to take a name; to renew one that is left over costs a trip that goes beside
/// the one that takes the name.
class lease_pool {
public:
    /// So many are kept; the others end by themselves.
    static constexpr std::size_t most = 256;

    /// One that lasts for another third of its ttl at least, so that it is not renewed too late.
    [[nodiscard]] std::optional<etcd_lease> take(std::int64_t ttl_s, time_point now) {
        const std::scoped_lock guard(mutex_);
        std::erase_if(free_, [&](const etcd_lease& one) { return !lasts(one, now); });
        const auto found = std::ranges::find(free_, ttl_s, &etcd_lease::ttl_s);
        if (found == free_.end()) return std::nullopt;
        const etcd_lease taken = *found;
        *found = free_.back();
        free_.pop_back();
        return taken;
    }

    /// One without an id is no lease: an owner that was adopted had none of this process's.
    void give_back(const etcd_lease& lease, time_point now) {
        if (lease.id == 0) return;
        const std::scoped_lock guard(mutex_);
        if (free_.size() < most && lasts(lease, now)) free_.push_back(lease);
    }

    [[nodiscard]] std::vector<etcd_lease> take_all() {
        const std::scoped_lock guard(mutex_);
        return std::exchange(free_, {});
    }

private:
    static bool lasts(const etcd_lease& lease, time_point now) {
        return lease.ends > now + std::chrono::seconds(lease.ttl_s) / 3;
    }

    std::mutex mutex_;
    std::vector<etcd_lease> free_;
};

}  // namespace holdfast::etcd

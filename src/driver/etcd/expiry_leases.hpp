// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_client.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>

/// Leases of etcd that take away keys which have expired.
///
/// A key is gone for its readers at its own time, to the millisecond; its lease only frees the
/// room, some time after. So many keys share a lease, which nobody renews: one for the keys that
/// live up to a minute, one for two minutes, four, and so on. Each lasts for twice that time and is
/// given to new keys in the first half of it.
namespace holdfast::etcd {

/// Thread safety: all members may be called from any thread.
class expiry_leases {
public:
    explicit expiry_leases(std::shared_ptr<etcd_client> client) : client_(std::move(client)) {}

    /// A lease that ends after a key which has `left` to live. Trips: one in the lease's first use.
    static pending<called<std::int64_t>> lease_for(std::shared_ptr<expiry_leases> self,
                                                   duration left, time_point give_up);
    /// They may be gone: the next keys get others.
    void forget_all();

private:
    struct granted {
        std::int64_t id = 0;
        time_point until = time_point::min();  ///< To be given to new keys.
    };
    static constexpr std::size_t classes = 21;  // a minute doubled so often is two years

    [[nodiscard]] static std::size_t class_of(duration left);
    [[nodiscard]] static duration span_of(std::size_t which);
    /// 0: none that may be given to a key.
    [[nodiscard]] std::int64_t known(std::size_t which, time_point now);
    void remember(std::size_t which, granted lease);

    const std::shared_ptr<etcd_client> client_;
    std::mutex mutex_;
    std::array<granted, classes> leases_;
};

}  // namespace holdfast::etcd

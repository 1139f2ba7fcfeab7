// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_lease_store.hpp"

#include "support/asked_store.hpp"
#include "support/etcd_server.hpp"

#include <gmock/gmock.h>

#include <initializer_list>
#include <utility>

/// What the cases about etcd stand on: a server that they share, and stores on it.
namespace holdfast::test {

inline etcd_cluster& shared_etcd() {
    static etcd_cluster shared;
    return shared;
}

inline etcd::etcd_options etcd_at(std::initializer_list<std::uint16_t> ports) {
    etcd::etcd_options options;
    for (const std::uint16_t port : ports) options.servers.push_back({"127.0.0.1", port});
    return options;
}

class etcd_store : public asked_store<etcd::etcd_lease_store> {
public:
    explicit etcd_store(etcd::etcd_options options = etcd_at({shared_etcd().port(0)}))
        : asked_store(etcd::etcd_lease_store::make(std::move(options), system_clock()).value()) {}
};

}  // namespace holdfast::test

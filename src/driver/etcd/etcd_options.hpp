// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::etcd {

struct etcd_endpoint {
    std::string host;
    std::uint16_t port = 2379;
};

/// Where an etcd cluster is, and how it is entered.
struct etcd_options {
    std::vector<etcd_endpoint> servers;  ///< Of one cluster. One that fails is left for the next.
    bool tls = false;
    std::string ca_file;           ///< PEM; empty: the system's authorities.
    std::string certificate_file;  ///< PEM, for servers that ask for one; with key_file.
    std::string key_file;
    std::string user;  ///< Empty: no login.
    std::string password;
    std::string root = "holdfast";  ///< What the keys begin with.
    /// A server that cannot be connected to in this time counts as failed.
    duration connect_timeout = std::chrono::seconds(5);
};

}  // namespace holdfast::etcd

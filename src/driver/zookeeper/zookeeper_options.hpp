// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::zookeeper {

struct zookeeper_endpoint {
    std::string host;
    std::uint16_t port = 2181;
};

/// Whose recipe our nodes are named after, so that its locks and ours stand in one queue.
enum class recipe : std::uint8_t { kazoo, curator };

struct zookeeper_options {
    std::vector<zookeeper_endpoint> servers;  ///< Of one ensemble.
    std::string user;                         ///< For digest authentication; empty: none.
    std::string password;
    std::string root = "/holdfast";  ///< The node below which the names are.
    recipe names = recipe::kazoo;
};

}  // namespace holdfast::zookeeper

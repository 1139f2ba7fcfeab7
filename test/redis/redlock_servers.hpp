// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/redis_server.hpp"

#include <holdfast/holdfast.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// What the tests of a quorum of real servers have in common.
namespace holdfast {

using namespace std::chrono_literals;

inline constexpr std::string_view brisk =
    "?quarantine=off&node_timeout=300ms&connect_timeout=300ms";

inline std::string url_of(const std::vector<std::uint16_t>& ports, std::string_view options) {
    std::string url = "redlock://";
    for (const std::uint16_t port : ports) {
        if (url.back() != '/') url += ',';
        url += "127.0.0.1:" + std::to_string(port);
    }
    return url.append(options);
}

inline std::vector<std::uint16_t> ports_of(
    std::vector<std::unique_ptr<test::redis_server>>& servers) {
    std::vector<std::uint16_t> ports;
    for (const auto& server : servers) ports.push_back(server->port());
    return ports;
}

inline const acquire_options brief{.ttl = 2s, .wait = 10s};

}  // namespace holdfast

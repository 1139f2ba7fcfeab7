// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "traffic/traffic_ground.hpp"

/// The engines that the cache family runs on: those of traffic control, and the same suite on each.
namespace holdfast::test {

class cache_test : public traffic_test {
protected:
    /// Time stands still unless a case lets it pass: nobody can wait.
    [[nodiscard]] static bool virtual_time() {
        return GetParam().name == "memory" || GetParam().name == "sqlite";
    }
};

/// memory:, sqlite:, Redis, Sentinel, Cluster.
[[nodiscard]] inline std::vector<traffic_engine> cache_engines() {
    return traffic_engines();
}

inline std::string engine_name(const testing::TestParamInfo<traffic_engine>& info) {
    return info.param.name;
}

}  // namespace holdfast::test

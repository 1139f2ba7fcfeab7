// SPDX-License-Identifier: Apache-2.0
#include "checkers/resource_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {

void resource_checker::see(const seen::resource_used& e) {
    if (!e.accepted) return;
    latest& now = by_name_[e.name];
    if (e.fence.value < now.fence) {
        complain(e.at, fmt::format("'{}': fence {} was accepted after {}", e.name, e.fence.value,
                                   now.fence));
    } else if (e.fence.value == now.fence && e.holding != now.holding && now.holding != 0) {
        complain(e.at, fmt::format("'{}': two holders were accepted with fence {}", e.name,
                                   e.fence.value));
    }
    if (e.writes && e.read_before != e.value) {
        complain(e.at, fmt::format("'{}': an update was lost: fence {} read {} and wrote over {}",
                                   e.name, e.fence.value, e.read_before, e.value));
    }
    now = {e.fence.value, e.holding};
}

}  // namespace holdfast::sim

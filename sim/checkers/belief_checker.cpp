// SPDX-License-Identifier: Apache-2.0
#include "checkers/belief_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {
namespace {

bool together(const lease_mode& a, const lease_mode& b) {
    return a.type == b.type && a.type != lease_mode::kind::exclusive;
}

}  // namespace

void belief_checker::see(const seen::holding_began& e) {
    auto& all = by_name_[e.name];
    std::uint32_t taken = e.mode.permits;
    for (const belief& other : all) {
        if (!other.who->believes()) continue;
        taken += other.mode.permits;
        if (together(e.mode, other.mode)) continue;
        complain(e.at, fmt::format("'{}': process {} was granted fence {} while process {} still "
                                   "believes in fence {}",
                                   e.name, e.process, e.fence.value, other.process,
                                   other.fence.value));
    }
    if (e.mode.type == lease_mode::kind::permit && taken > e.mode.limit) {
        complain(e.at, fmt::format("'{}': {} permits of {} are out", e.name, taken, e.mode.limit));
    }
    all.push_back({e.holding, e.process, e.mode, e.fence, e.who});
}

void belief_checker::see(const seen::holding_ended& e) {
    for (auto& [name, all] : by_name_) {
        std::erase_if(all, [&](const belief& one) { return one.holding == e.holding; });
    }
}

void belief_checker::see(const seen::process_crashed& e) {
    for (auto& [name, all] : by_name_) {
        std::erase_if(all, [&](const belief& one) { return one.process == e.process; });
    }
}

}  // namespace holdfast::sim

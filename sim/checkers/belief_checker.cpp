// SPDX-License-Identifier: Apache-2.0
#include "checkers/belief_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {
namespace {

bool together(const lease_mode& a, const lease_mode& b) {
    return a.type == b.type && a.type != lease_mode::kind::exclusive;
}

}  // namespace

void belief_checker::ask_all(moment at, const std::string& name, std::vector<belief>& all) {
    const belief* first = nullptr;
    std::uint32_t taken = 0;
    for (belief& one : all) {
        if (!one.who->believes()) {
            one.over = true;
            continue;
        }
        if (one.over) {
            complain(at,
                     fmt::format("'{}': process {} believed in fence {} no more, and does again",
                                 name, one.process, one.fence.value));
        }
        taken += one.mode.permits;
        if (first == nullptr) {
            first = &one;
        } else if (!together(first->mode, one.mode)) {
            complain(at, fmt::format("'{}': process {} believes in fence {}, and process {} in "
                                     "fence {}",
                                     name, first->process, first->fence.value, one.process,
                                     one.fence.value));
        }
    }
    if (first != nullptr && first->mode.type == lease_mode::kind::permit &&
        taken > first->mode.limit) {
        complain(at, fmt::format("'{}': {} permits of {} are out", name, taken, first->mode.limit));
    }
}

void belief_checker::see(const seen::holding_began& e) {
    auto& all = by_name_[e.name];
    all.push_back({e.holding, e.process, e.mode, e.fence, e.who});
    ask_all(e.at, e.name, all);
}

void belief_checker::see(const seen::request_answered& e) {
    for (auto& [name, all] : by_name_) ask_all(e.at, name, all);
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

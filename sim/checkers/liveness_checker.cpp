// SPDX-License-Identifier: Apache-2.0
#include "checkers/liveness_checker.hpp"

#include <holdfast/error.hpp>

#include <fmt/format.h>

namespace holdfast::sim {

using namespace std::chrono_literals;

void liveness_checker::see(const seen::call_began& e) {
    if (e.must_be_granted) open_.emplace(e.call, e);
}

void liveness_checker::see(const seen::call_ended& e) {
    const auto found = open_.find(e.call);
    if (found == open_.end()) return;
    if (e.problem) {
        complain(e.at, fmt::format("all faults have stopped, and an acquire of '{}' by process {} "
                                   "at {} ms still ended with {}",
                                   found->second.name, found->second.process,
                                   found->second.at / 1ms, to_string(*e.problem)));
    }
    open_.erase(found);
}

}  // namespace holdfast::sim

// SPDX-License-Identifier: Apache-2.0
#include "checkers/leftover_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {

void leftover_checker::see(const seen::process_idle& e) {
    if (e.left.empty()) return;
    complain(e.at, fmt::format("process {} has nothing any more, but the server has of it: {}",
                               e.process, e.left));
}

void leftover_checker::see(const seen::world_ended& e) {
    if (e.left_on_servers.empty()) return;
    complain(e.at, fmt::format("in the end there is still: {}", e.left_on_servers));
}

}  // namespace holdfast::sim

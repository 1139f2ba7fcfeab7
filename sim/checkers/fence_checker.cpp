// SPDX-License-Identifier: Apache-2.0
#include "checkers/fence_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::sim {

void fence_checker::see(const seen::call_began& e) {
    largest_at_call_[e.call] = by_name_[e.name].largest;
}

void fence_checker::see(const seen::call_ended& e) {
    largest_at_call_.erase(e.call);
}

void fence_checker::see(const seen::holding_began& e) {
    record& name = by_name_[e.name];
    const std::uint64_t fence = e.fence.value;
    if (fence == 0) complain(e.at, fmt::format("'{}': a grant without a fence", e.name));
    if (!name.given.insert(fence).second) {
        complain(e.at, fmt::format("'{}': fence {} was given twice", e.name, fence));
    }
    const auto at_call = largest_at_call_.find(e.call);
    const auto line = lines_.extract({e.name, e.process, fence - 1});
    const bool passed_on = !total_ && line;
    const std::uint64_t before = passed_on                           ? line.mapped()
                                 : at_call != largest_at_call_.end() ? at_call->second
                                                                     : 0;
    lines_[{e.name, e.process, fence}] = before;
    if (fence <= before) {
        complain(e.at, fmt::format("'{}': fence {} was given to process {}, which asked after "
                                   "fence {} had been given",
                                   e.name, fence, e.process, before));
    }
    const bool ordered = total_ && e.mode.type == lease_mode::kind::exclusive;
    if (ordered && fence < name.largest) {
        complain(e.at, fmt::format("'{}': fence {} was given after fence {}", e.name, fence,
                                   name.largest));
    }
    name.largest = std::max(name.largest, fence);
}

}  // namespace holdfast::sim

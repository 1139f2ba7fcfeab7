// SPDX-License-Identifier: Apache-2.0
#include "commands/top/losses.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::app {

std::uint64_t loss_watch::look(std::span<const lease_info> seen, duration passed) {
    std::map<std::string, holdings> now;
    for (const lease_info& name : seen) {
        holdings& here = now[name.name];
        const auto known = before_.find(name.name);
        for (const holder_info& one : name.holders) {
            if (one.fence.value == 0 || !one.remaining) continue;
            duration most = *one.remaining;
            if (known != before_.end()) {
                const auto same = known->second.find(one.fence.value);
                if (same != known->second.end()) most = std::max(most, same->second.most);
            }
            here[one.fence.value] = {*one.remaining, most};
        }
    }
    std::uint64_t lost = 0;
    for (const auto& [name, held] : before_) {
        const auto still = now.find(name);
        for (const auto& [fence, one] : held) {
            if (still != now.end() && still->second.contains(fence)) continue;
            if (one.left <= passed && one.left < one.most / 2) ++lost;
        }
    }
    before_ = std::move(now);
    return lost;
}

}  // namespace holdfast::app

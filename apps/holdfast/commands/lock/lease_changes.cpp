// SPDX-License-Identifier: Apache-2.0
#include "commands/lock/lease_changes.hpp"

#include <algorithm>

namespace holdfast::app {
namespace {

using kind = lease_change::kind;

// A young holding may have no fence yet.
bool same_holding(const holder_info& a, const holder_info& b) {
    const bool known = a.fence.value != 0 && b.fence.value != 0;
    return a.client == b.client && (!known || a.fence == b.fence);
}

// The first, with those of its holders alone that the other has not.
lease_info without(lease_info one, const lease_info& other) {
    std::erase_if(one.holders, [&](const holder_info& holder) {
        return std::ranges::any_of(
            other.holders, [&](const holder_info& same) { return same_holding(holder, same); });
    });
    return one;
}

lease_change freed(const lease_info& old) {
    lease_change change{kind::free, {}, old};
    change.now.name = old.name;
    return change;
}

}  // namespace

std::string_view to_string(lease_change::kind type) noexcept {
    switch (type) {
        case kind::held: return "held";
        case kind::acquired: return "acquired";
        case kind::handed_off: return "handed off";
        case kind::left: return "left";
        case kind::waiting: return "waiting";
        case kind::evicted: return "evicted";
        case kind::free: return "free";
    }
    return "";
}

std::vector<lease_change> changes_between(std::span<const lease_info> before,
                                          std::span<const lease_info> after) {
    std::vector<lease_change> found;
    auto old = before.begin();
    for (const lease_info& now : after) {
        for (; old != before.end() && old->name < now.name; ++old) {
            found.push_back(freed(*old));
        }
        if (old == before.end() || old->name != now.name) {
            found.push_back({kind::acquired, now, {}});
            continue;
        }
        const lease_info went = without(*old, now);
        if (without(now, *old).held()) {
            const kind type = old->waiters > 0 ? kind::handed_off : kind::acquired;
            found.push_back({type, now, went});
        } else if (went.held()) {
            found.push_back({kind::left, now, went});
        } else if (old->waiters != now.waiters) {
            found.push_back({kind::waiting, now, went});
        }
        ++old;
    }
    for (; old != before.end(); ++old) found.push_back(freed(*old));
    return found;
}

}  // namespace holdfast::app

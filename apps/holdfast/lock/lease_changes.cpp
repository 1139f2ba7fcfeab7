// SPDX-License-Identifier: Apache-2.0
#include "lock/lease_changes.hpp"

namespace holdfast::app {
namespace {

using kind = lease_change::kind;

// A young holding may have no fence yet; then those who hold are compared.
bool same_holding(const lease_info& a, const lease_info& b) {
    if (a.fence.value != 0 && b.fence.value != 0) return a.fence == b.fence;
    const bool known = !a.holders.empty() && !b.holders.empty();
    return !known || a.holders.front().who == b.holders.front().who;
}

}  // namespace

std::string_view to_string(lease_change::kind type) noexcept {
    switch (type) {
        case kind::acquired: return "acquired";
        case kind::handed_over: return "handed over";
        case kind::waiting: return "waiting";
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
            found.push_back({kind::free, *old});
        }
        if (old == before.end() || old->name != now.name) {
            found.push_back({kind::acquired, now});
            continue;
        }
        if (!same_holding(*old, now)) {
            found.push_back({old->waiters > 0 ? kind::handed_over : kind::acquired, now});
        } else if (old->waiters != now.waiters) {
            found.push_back({kind::waiting, now});
        }
        ++old;
    }
    for (; old != before.end(); ++old) found.push_back({kind::free, *old});
    return found;
}

}  // namespace holdfast::app

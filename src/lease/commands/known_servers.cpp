// SPDX-License-Identifier: Apache-2.0
#include "lease/commands/known_servers.hpp"

#include "core/validity.hpp"

#include <algorithm>

namespace holdfast {

// The youngest makes room: it will be seen again.
known_servers::sight& known_servers::find(std::string_view server, time_point now) {
    const auto found = seen_.find(server);
    if (found != seen_.end()) return found->second;
    if (seen_.size() >= most) {
        seen_.erase(
            std::ranges::max_element(seen_, {}, [](const auto& one) { return one.second.since; }));
    }
    return seen_.emplace(server, sight{now}).first->second;
}

void known_servers::note(std::string_view server, time_point when) {
    const std::scoped_lock guard(mutex_);
    sight& one = find(server, when);
    one.since = std::min(one.since, when);
}

bool known_servers::older_than(std::string_view server, duration window, time_point now) const {
    const std::scoped_lock guard(mutex_);
    const auto found = seen_.find(server);
    return found != seen_.end() &&
           now > later(later(found->second.since, window), drift_allowance(window));
}

bool known_servers::may_ask(std::string_view server, time_point now) {
    const std::scoped_lock guard(mutex_);
    sight& one = find(server, now);
    if (now < one.next_question) return false;
    one.next_question = later(now, pause);
    return true;
}

}  // namespace holdfast

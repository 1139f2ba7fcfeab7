// SPDX-License-Identifier: Apache-2.0
#include "checkers/renewal_checker.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::sim {

void renewal_checker::see(const seen::holding_began& e) {
    open_.emplace(e.holding, holding{e.process, e.name, e.fence.value, e.who});
}

void renewal_checker::see(const seen::holding_ended& e) {
    open_.erase(e.holding);
}

void renewal_checker::see(const seen::process_crashed& e) {
    std::erase_if(open_, [&](const auto& one) { return one.second.process == e.process; });
}

void renewal_checker::see(const seen::request_sent& e) {
    if (const auto* gone = std::get_if<ask::release>(&e.request)) {
        ended_owners_.emplace(e.process, gone->owner);
    } else if (const auto* left = std::get_if<ask::leave>(&e.request)) {
        ended_owners_.emplace(e.process, left->owner);
    }
    const auto* kept = std::get_if<ask::renew>(&e.request);
    if (kept == nullptr) return;
    if (ended_owners_.contains({e.process, kept->owner})) {
        complain(e.at, fmt::format("process {} renews '{}', which it has given back", e.process,
                                   kept->name.value()));
    }
    // Where a server was replaced unawares, a program may have two with the same fence.
    const bool believed = std::ranges::any_of(open_, [&](const auto& one) {
        return one.second.process == e.process && one.second.fence == kept->fence.value &&
               one.second.name == kept->name.value() && one.second.who->believes();
    });
    if (!believed) {
        complain(e.at, fmt::format("process {} renews fence {} of '{}', in which nobody believes",
                                   e.process, kept->fence.value, kept->name.value()));
    }
}

}  // namespace holdfast::sim

// SPDX-License-Identifier: Apache-2.0
#include "doctor/examinations.hpp"

#include "time_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace holdfast::app {
namespace {

using namespace std::chrono_literals;
using level = finding::level;

// Machines that have the same time by NTP are milliseconds apart; this is something else.
constexpr duration far_apart = 2s;

std::string mend_for(const error& why) {
    switch (why.code) {
        case errc::denied:
            return "give the user the permissions of docs/guide/redis.md, or mend the password";
        case errc::unavailable:
        case errc::timed_out:
        case errc::outcome_unknown: return "look whether the engine runs, and can be reached";
        default: return "";
    }
}

finding refused(std::string about, const std::string& where, const error& why) {
    return {level::unsafe, std::move(about), where, why.detail, mend_for(why)};
}

}  // namespace

findings try_a_lease(client& on, const std::string& where) {
    const std::string name = fmt::format("holdfast/doctor/{}", ::getpid());
    auto held = on.mutex(name).acquire({.ttl = 5s, .wait = 0s});
    if (!held) return {refused("lease", where, held.error())};
    findings found;
    if (on.can().listing) {
        if (const auto listed = on.list(name); !listed) {
            found.push_back(refused("listing", where, listed.error()));
            found.back().weight = level::note;
        }
    }
    if (const auto released = std::move(*held).release(); !released) {
        found.push_back(refused("lease", where, released.error()));
    } else {
        found.push_back({level::good, "lease", where, "a lease was granted and given back", ""});
    }
    return found;
}

findings compare_clocks(client& on, const std::string& where) {
    const auto seen = on.compare_clocks();
    if (!seen) {
        if (seen.error() == errc::unsupported) return {};
        return {{level::note, "clock", where, seen.error().detail, ""}};
    }
    const duration apart = std::max(seen->offset, -seen->offset);
    if (apart - seen->round_trip / 2 <= far_apart) {
        return {{level::good, "clock", where,
                 fmt::format("its clock and ours are {} apart, or less",
                             show_roughly(apart + seen->round_trip / 2)),
                 ""}};
    }
    return {
        {level::unsafe, "clock", where,
         fmt::format("its clock is {} {} ours: if it loses its data, fences may go back",
                     show_roughly(apart), seen->offset > duration::zero() ? "ahead of" : "behind"),
         "set both clocks by NTP"}};
}

}  // namespace holdfast::app

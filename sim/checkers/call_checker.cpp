// SPDX-License-Identifier: Apache-2.0
#include "checkers/call_checker.hpp"

#include <fmt/format.h>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

// Clocks drift, and a step takes a moment.
constexpr moment margin = 20ms;

moment allowed(moment must_end, moment began, moment stood_still) {
    return must_end + (must_end - began) / 50 + stood_still + margin;
}

}  // namespace

void call_checker::see(const seen::call_began& e) {
    open_.emplace(e.call, e);
}

void call_checker::see(const seen::call_ended& e) {
    const auto found = open_.find(e.call);
    if (found == open_.end()) {
        complain(e.at, fmt::format("call {} returned twice", e.call));
        return;
    }
    const seen::call_began& began = found->second;
    if (e.at > allowed(began.must_end, began.at, e.stood_still)) {
        complain(e.at, fmt::format("an acquire of '{}' that began at {} ms should have returned "
                                   "after {} ms and took {} ms",
                                   began.name, began.at / 1ms, (began.must_end - began.at) / 1ms,
                                   (e.at - began.at) / 1ms));
    }
    open_.erase(found);
}

void call_checker::see(const seen::release_ended& e) {
    if (e.at <= allowed(e.must_end, e.began, e.stood_still)) return;
    complain(e.at, fmt::format("a release took {} ms instead of {} ms", (e.at - e.began) / 1ms,
                               (e.must_end - e.began) / 1ms));
}

void call_checker::see(const seen::process_crashed& e) {
    std::erase_if(open_, [&](const auto& one) { return one.second.process == e.process; });
}

void call_checker::see(const seen::world_ended& e) {
    for (const auto& [call, began] : open_) {
        complain(e.at, fmt::format("an acquire of '{}' by process {} at {} ms never returned",
                                   began.name, began.process, began.at / 1ms));
    }
}

}  // namespace holdfast::sim

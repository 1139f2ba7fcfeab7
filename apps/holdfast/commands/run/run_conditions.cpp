// SPDX-License-Identifier: Apache-2.0
#include "commands/run/run_conditions.hpp"

#include "time_text.hpp"

#include <holdfast/cooldown.hpp>
#include <holdfast/engine/span_text.hpp>
#include <holdfast/rate_limiter.hpp>

#include <fmt/format.h>

#include <utility>

namespace holdfast::app {

gates::gates(const client& on, const run_options& options)
    : options_(options),
      place_(on),
      give_up_(options.wait == forever ? time_point::max() : system_clock().now() + options.wait) {}

result<void> gates::pass(const sleeper& sleep) {
    if (options_.cooldown) {
        cooldown gate(place_, {.window = *options_.cooldown});
        const auto take = [&] { return gate.take(options_.name); };
        if (auto passed = pass_in_time("cooling down", take, sleep); !passed) return passed;
    }
    if (options_.at_most) {
        rate_limiter gate(place_, rule_of(*options_.at_most, 0), {.remembered_keys = 0});
        const auto take = [&] { return gate.take(options_.name); };
        if (auto passed = pass_in_time("over its rate", take, sleep); !passed) return passed;
    }
    return options_.once ? pass_once() : result<void>();
}

result<void> gates::pass_once() {
    marks_.emplace(place_, once_options{.window = *options_.once});
    auto claim = marks_->claim(options_.name);
    if (!claim) return std::unexpected(std::move(claim.error()));
    if (!claim->first) {
        return fail(errc::busy, fmt::format("'{}' was done already within {}", options_.name,
                                            show_span(*options_.once)));
    }
    claim_ = std::move(*claim);
    return {};
}

template <class Take>
result<void> gates::pass_in_time(std::string_view what, Take take, const sleeper& sleep) {
    while (true) {
        const result<decision> seen = take();
        if (!seen) return std::unexpected(seen.error());
        if (seen->allowed) return {};
        const bool never = seen->retry_after == decision::never;
        const time_point now = system_clock().now();
        if (never || now >= give_up_ || seen->retry_after > give_up_ - now) {
            return fail(errc::busy, never ? fmt::format("'{}' is {}", options_.name, what)
                                          : fmt::format("'{}' is {} for {}", options_.name, what,
                                                        show_roughly(seen->retry_after)));
        }
        if (!sleep(seen->retry_after)) return fail(errc::cancelled, "broken off");
    }
}

void gates::forget() {
    // If this fails too, the mark stays for its window: nobody repeats what may have been done.
    if (claim_) static_cast<void>(marks_->forget(*claim_));
}

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#include <holdfast/decision.hpp>
#include <holdfast/limit.hpp>

#include "command/script_call.hpp"
#include "core/overloaded.hpp"

#include <fmt/format.h>

namespace holdfast {
namespace {

using detail::check_span;
using detail::overloaded;

constexpr std::uint64_t most = 1'000'000'000;
constexpr std::uint64_t most_logged = 100'000;
constexpr std::uint32_t most_parts = 100;

result<void> check_amount(std::string_view what, std::uint64_t amount, std::uint64_t least,
                          std::uint64_t greatest) {
    if (amount >= least && amount <= greatest) return {};
    // A negative number that was given as an unsigned one is huge.
    return fail(errc::invalid_argument,
                fmt::format("{} is {}: give it {} to {}", what, amount, least, greatest));
}

// A bucket that takes a human life to fill is a mistake of units, and its numbers would not fit.
result<void> check_fill(std::uint64_t amount, duration period, std::uint64_t rate) {
    const double years = std::chrono::duration<double, std::chrono::years::period>(period).count() *
                         static_cast<double>(amount) / static_cast<double>(rate);
    if (years <= 100) return {};
    return fail(errc::invalid_argument,
                fmt::format("the bucket would need {:.0f} years to fill: raise the rate or lower "
                            "the capacity",
                            years));
}

duration fill_time(std::uint64_t amount, duration period, std::uint64_t rate) {
    const double ns = static_cast<double>(period.count()) * static_cast<double>(amount) /
                      static_cast<double>(rate == 0 ? 1 : rate);
    return duration(static_cast<std::int64_t>(ns));
}

}  // namespace

std::string_view to_string(decided_by who) noexcept {
    switch (who) {
        case decided_by::engine: return "engine";
        case decided_by::memory: return "memory";
        case decided_by::block: return "block";
        case decided_by::policy: return "policy";
    }
    return "unknown";
}

result<void> check(const limit_rule& rule) {
    using detail::first_failure;
    const auto window_rule = [](const auto& r, std::uint64_t greatest) {
        return first_failure(
            {check_amount("limit", r.limit, 1, greatest), check_span("window", r.window)});
    };
    return std::visit(overloaded{
                          [&](const fixed_window& r) { return window_rule(r, most); },
                          [&](const sliding_log& r) { return window_rule(r, most_logged); },
                          [&](const sliding_counter& r) {
                              return first_failure({window_rule(r, most),
                                                    check_amount("parts", r.parts, 1, most_parts)});
                          },
                          [](const token_bucket& r) {
                              return first_failure({check_amount("capacity", r.capacity, 1, most),
                                                    check_amount("refill", r.refill, 1, most),
                                                    check_span("period", r.period),
                                                    check_fill(r.capacity, r.period, r.refill)});
                          },
                          [](const leaky_bucket& r) {
                              return first_failure({check_amount("drain", r.drain, 1, most),
                                                    check_amount("queue", r.queue, 0, most),
                                                    check_span("period", r.period),
                                                    check_fill(r.queue + 1, r.period, r.drain)});
                          },
                      },
                      rule);
}

std::uint64_t capacity_of(const limit_rule& rule) noexcept {
    return std::visit(overloaded{
                          [](const token_bucket& r) { return r.capacity; },
                          [](const leaky_bucket& r) { return r.queue + 1; },
                          [](const auto& r) { return r.limit; },
                      },
                      rule);
}

duration window_of(const limit_rule& rule) noexcept {
    return std::visit(
        overloaded{
            [](const token_bucket& r) { return fill_time(r.capacity, r.period, r.refill); },
            [](const leaky_bucket& r) { return fill_time(r.queue + 1, r.period, r.drain); },
            [](const auto& r) { return r.window; },
        },
        rule);
}

}  // namespace holdfast

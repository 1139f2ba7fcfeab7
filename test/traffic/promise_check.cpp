// SPDX-License-Identifier: Apache-2.0
#include "traffic/promise_check.hpp"

#include "core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace holdfast::test {
namespace {

std::int64_t in_us(duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

double per_us(std::uint64_t rate, duration period) {
    return static_cast<double>(rate) / static_cast<double>(in_us(period));
}

}  // namespace

std::string promise_check::window_holds_at_most(std::uint64_t most, duration window,
                                                std::int64_t now_us) {
    while (!recent_.empty() && recent_.front().at <= now_us - in_us(window)) {
        in_window_ -= recent_.front().n;
        recent_.pop_front();
    }
    if (in_window_ <= most) return "";
    return fmt::format("{} were admitted within a window: at most {}", in_window_, most);
}

// In no interval more than burst + rate x its length: the highest lead over the steady rate since
// any earlier moment is at most the burst. A millionth for the sums of doubles.
std::string promise_check::rate_holds(double rate, double burst, std::int64_t now_us,
                                      std::uint64_t n) {
    if (start_us_ < 0) start_us_ = now_us;
    const double steady = rate * static_cast<double>(now_us - start_us_);
    lowest_ = std::min(lowest_, admitted_ - steady);
    admitted_ += static_cast<double>(n);
    const double lead = admitted_ - steady - lowest_;
    if (lead <= burst + 1e-6 * (burst + admitted_ * 1e-6)) return "";
    return fmt::format("a burst of {} above the rate: at most {}", lead, burst);
}

std::string promise_check::admit(std::int64_t now_us, std::uint64_t n) {
    recent_.push_back({now_us, n});
    in_window_ += n;
    const auto result = std::visit(
        detail::overloaded{
            [&](const fixed_window& r) {
                return window_holds_at_most(2 * r.limit, r.window, now_us);
            },
            [&](const sliding_log& r) { return window_holds_at_most(r.limit, r.window, now_us); },
            [&](const sliding_counter& r) {
                const std::uint64_t factor = r.mode == counting::strict ? 1 : 2;
                return window_holds_at_most(factor * r.limit, r.window, now_us);
            },
            [&](const token_bucket& r) {
                return rate_holds(per_us(r.refill, r.period), static_cast<double>(r.capacity),
                                  now_us, n);
            },
            [&](const leaky_bucket& r) {
                return rate_holds(per_us(r.drain, r.period), static_cast<double>(r.queue + 1),
                                  now_us, n);
            },
        },
        rule_);
    if (std::holds_alternative<token_bucket>(rule_) ||
        std::holds_alternative<leaky_bucket>(rule_)) {
        recent_.clear();
    }
    return result;
}

}  // namespace holdfast::test

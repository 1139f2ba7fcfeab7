// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/limit.hpp>

#include <cstdint>
#include <deque>
#include <string>

/// What a rule promises about every window, checked from the admissions alone.
namespace holdfast::test {

class promise_check {
public:
    explicit promise_check(limit_rule rule) : rule_(rule) {}

    /// n were admitted. Answers what was broken; nothing if all is well.
    [[nodiscard]] std::string admit(std::int64_t now_us, std::uint64_t n);

private:
    [[nodiscard]] std::string window_holds_at_most(std::uint64_t most, duration window,
                                                   std::int64_t now_us);
    [[nodiscard]] std::string rate_holds(double per_us, double burst, std::int64_t now_us,
                                         std::uint64_t n);

    limit_rule rule_;
    struct admission {
        std::int64_t at;
        std::uint64_t n;
    };
    std::deque<admission> recent_;
    std::uint64_t in_window_ = 0;
    double admitted_ = 0;
    double lowest_ = 0;  ///< The least of (admitted before - rate x time).
    std::int64_t start_us_ = -1;
};

}  // namespace holdfast::test

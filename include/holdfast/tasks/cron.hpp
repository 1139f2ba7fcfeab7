// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <bitset>
#include <optional>
#include <string_view>

/// A cron expression: minute, hour, day of the month, month, day of the week, in UTC.
///
///     */15 9-17 * * mon-fri      every quarter of an hour during office hours
///     0 3 1,15 * *               at three on the first and the fifteenth
///     @daily                     also @hourly, @weekly, @monthly, @yearly
///
/// If both days are restricted, either is enough, as cron(8) has it. UTC, because a local time may
/// come twice a year, or never.
namespace holdfast {

class cron {
public:
    /// Errors: invalid_argument: the detail names the field and its values; also for an expression
    /// that never comes true, such as the 30th of February.
    [[nodiscard]] static result<cron> parse(std::string_view text);

    /// The first tick after that time; nothing if there is none in the next 40 years.
    [[nodiscard]] std::optional<wall_time> next(wall_time after) const;

private:
    cron() = default;
    [[nodiscard]] bool fits(std::chrono::year_month_day day) const;

    std::bitset<60> minutes_;
    std::bitset<24> hours_;
    std::bitset<32> days_;
    std::bitset<13> months_;
    std::bitset<7> weekdays_;
    bool any_day_ = false;
    bool any_weekday_ = false;
};

}  // namespace holdfast

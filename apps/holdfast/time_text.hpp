// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <optional>
#include <string>

/// Time for people to read: rough, and short.
namespace holdfast::app {

/// "250 ms", "4.2 s", "3 min 20 s", "2 h 5 min".
[[nodiscard]] std::string show_roughly(duration d);

/// "12:03:04", of the day in this machine's time zone.
[[nodiscard]] std::string show_time_of_day(wall_time when);

/// "2026-03-01T12:03:04Z".
[[nodiscard]] std::string show_moment(wall_time when);

}  // namespace holdfast::app

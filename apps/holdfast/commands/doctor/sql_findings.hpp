// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "commands/doctor/examinations.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// What is said of every SQL server, whichever it is.
namespace holdfast::app {

/// Its time of day, in microseconds since 1970, and ours from before it was asked.
[[nodiscard]] finding examine_sql_clock(std::int64_t theirs_us, std::int64_t asked_us,
                                        const std::string& where);

/// This machine's time of day, in microseconds since 1970.
[[nodiscard]] std::int64_t time_of_day_us();

/// How many connections a client may use, and how many the server allows for all.
[[nodiscard]] finding examine_sql_connections(std::size_t ours, std::size_t all,
                                              const std::string& where);

/// Settings that people ask about, and that do not matter: each connection of ours has its own.
[[nodiscard]] findings examine_sql_habits(std::string_view isolation, std::string_view time_zone,
                                          const std::string& where);

}  // namespace holdfast::app

// SPDX-License-Identifier: Apache-2.0
#include "commands/doctor/sql_findings.hpp"

#include <holdfast/clock.hpp>

#include <fmt/format.h>

#include <cstdlib>

namespace holdfast::app {

std::int64_t time_of_day_us() {
    return system_clock().wall().time_since_epoch().count();
}

finding examine_sql_clock(std::int64_t theirs_us, std::int64_t asked_us, const std::string& where) {
    using level = finding::level;
    constexpr std::int64_t far_apart = 5'000'000;
    const std::int64_t trip = time_of_day_us() - asked_us;
    const std::int64_t offset = theirs_us - asked_us - trip / 2;
    const double seconds = static_cast<double>(std::abs(offset)) / 1e6;
    if (std::abs(offset) <= far_apart + trip / 2) {
        return {level::good, "clock", where,
                fmt::format("its clock and ours are {:.1f} s apart, or less", seconds + 0.1), ""};
    }
    return {level::note, "clock", where,
            fmt::format("its clock is {:.0f} s {} ours: leases end by its clock alone, but fences "
                        "may go back if a server with another clock takes its place",
                        seconds, offset > 0 ? "ahead of" : "behind"),
            "set the clocks of all servers by NTP"};
}

finding examine_sql_connections(std::size_t ours, std::size_t all, const std::string& where) {
    using level = finding::level;
    const std::string text = fmt::format(
        "a client uses up to {} and one that listens, of {} that the server allows", ours, all);
    if (2 * (ours + 1) <= all) return {level::good, "connections", where, text, ""};
    return {level::note, "connections", where, text + ": two clients may use them up",
            "lower connections= in the URL, or raise max_connections"};
}

findings examine_sql_habits(std::string_view isolation, std::string_view time_zone,
                            const std::string& where) {
    using level = finding::level;
    return {{level::good, "isolation", where,
             fmt::format("our transactions are read committed, whatever the default is ({})",
                         isolation),
             ""},
            {level::good, "time zone", where,
             fmt::format("times are kept in UTC, whatever the time zone is ({})", time_zone), ""}};
}

}  // namespace holdfast::app

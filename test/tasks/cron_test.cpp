// SPDX-License-Identifier: Apache-2.0
#include <holdfast/tasks/cron.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using std::chrono::sys_days;

constexpr wall_time midnight{sys_days{std::chrono::year{2026} / 11 / 18}};  // a Wednesday

std::string after(std::string_view rule, wall_time from = midnight) {
    const auto parsed = cron::parse(rule);
    if (!parsed) return parsed.error().detail;
    const auto next = parsed->next(from);
    if (!next) return "never";
    return fmt::format("{:%Y-%m-%d %H:%M}", std::chrono::floor<std::chrono::seconds>(*next));
}

TEST(cron, finds_the_next_tick) {
    EXPECT_EQ(after("* * * * *"), "2026-11-18 00:01");
    EXPECT_EQ(after("*/15 * * * *", midnight + 14min), "2026-11-18 00:15");
    EXPECT_EQ(after("0 3 * * *"), "2026-11-18 03:00");
    EXPECT_EQ(after("0 0 * * *"), "2026-11-19 00:00");
    EXPECT_EQ(after("@daily"), "2026-11-19 00:00");
    EXPECT_EQ(after("@weekly"), "2026-11-22 00:00");
    EXPECT_EQ(after("30 9-17/4 * * mon-fri", midnight + 18h), "2026-11-19 09:30");
    EXPECT_EQ(after("0 0 29 2 *"), "2028-02-29 00:00");
    EXPECT_EQ(after("0 0 31 * *"), "2026-12-31 00:00");
    EXPECT_EQ(after("0 12 * JAN *"), "2027-01-01 12:00");
    EXPECT_EQ(after("0 0 * * 7"), "2026-11-22 00:00");
    EXPECT_EQ(after("59 23 31 12 *", midnight + 24h * 43 + 23h + 59min), "2027-12-31 23:59");
}

TEST(cron, takes_either_day_if_both_are_restricted) {
    EXPECT_EQ(after("0 0 1 * fri"), "2026-11-20 00:00");
    EXPECT_EQ(after("0 0 19 * fri"), "2026-11-19 00:00");
    EXPECT_EQ(after("0 0 */2 * fri"), "2026-11-27 00:00");  // a step of all is no restriction
}

TEST(cron, ticks_every_minute_that_fits_and_no_other) {
    const auto rule = cron::parse("7,*/20 1-2 * * *").value();
    std::vector<std::string> seen;
    wall_time at = midnight;
    for (int i = 0; i < 8; ++i) {
        at = rule.next(at).value();
        seen.push_back(fmt::format("{:%H:%M}", std::chrono::floor<std::chrono::seconds>(at)));
    }
    const std::vector<std::string> wanted{"01:00", "01:07", "01:20", "01:40",
                                          "02:00", "02:07", "02:20", "02:40"};
    EXPECT_EQ(seen, wanted);
}

TEST(cron, refuses_what_is_none_and_says_what_would_be) {
    for (const auto* bad : {"",
                            "*",
                            "* * * *",
                            "* * * * * *",
                            "60 * * * *",
                            "* 24 * * *",
                            "* * 0 * *",
                            "* * 32 * *",
                            "* * * 13 *",
                            "* * * * 8",
                            "-1 * * * *",
                            "1- * * * *",
                            "5-1 * * * *",
                            "*/0 * * * *",
                            "*/99 * * * *",
                            "a * * * *",
                            "1,,2 * * * *",
                            "1;2 * * * *",
                            "* * * * mond",
                            "@never",
                            "0 0 30 2 *",
                            "0x1 * * * *",
                            "1.5 * * * *",
                            "99999999999999999999 * * * *"}) {
        const auto parsed = cron::parse(bad);
        ASSERT_FALSE(parsed) << bad;
        EXPECT_EQ(parsed.error(), errc::invalid_argument) << bad;
        EXPECT_TRUE(parsed.error().detail.starts_with("cron: ")) << parsed.error().detail;
    }
    EXPECT_FALSE(cron::parse(std::string(100'000, '*')));
    EXPECT_FALSE(cron::parse(std::string("0 0 * * \0", 9)));
}

}  // namespace
}  // namespace holdfast

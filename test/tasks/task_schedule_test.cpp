// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_bed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

TEST(task_schedules, a_thousand_over_ten_days_and_four_workers_tick_once_each) {
    test::task_bed bed;
    std::vector<task_store> workers;
    for (int i = 0; i < 4; ++i) workers.push_back(bed.open());
    // The virtual clock begins at one in the morning; nothing ticks in the first or last hours.
    std::map<std::string, std::uint64_t> wanted;
    std::uint64_t all = 0;
    for (int i = 0; i < 1000; ++i) {
        const std::string name = fmt::format("job{}", i);
        const int minute = i % 60;
        std::string cron = fmt::format("{} {} * * *", minute, 2 + i % 20);
        std::uint64_t ticks = 10;
        if (i % 10 == 0) {
            cron = fmt::format("{} 3-20 * * *", minute);
            ticks = 180;
        } else if (i % 3 == 0) {
            cron = fmt::format("{} 2,9,17 * * *", minute);
            ticks = 30;
        }
        wanted[name] = ticks;
        all += ticks;
        ASSERT_TRUE(workers[0].schedule(
            {.name = name, .cron = cron, .task = {.queue = name}, .missed = catch_up::all}));
    }
    const time_point end = bed.time.now() + 24h * 10;
    std::uint64_t submitted = 0;
    while (bed.time.now() < end) {
        // Each looks at its own times; now and then all of them are away for hours.
        bed.time.advance(std::chrono::seconds(30 + bed.chance.below(1800)));
        if (bed.chance.below(50) == 0) bed.time.advance(5h);
        for (task_store& one : workers) {
            if (bed.chance.below(3) == 0) continue;
            while (const std::uint64_t made = one.table()->tick().value()) submitted += made;
        }
    }
    for (task_store& one : workers) {
        while (const std::uint64_t made = one.table()->tick().value()) submitted += made;
    }
    const auto late = std::chrono::floor<std::chrono::hours>(bed.time.now() - end);
    ASSERT_LE(late, 7h);
    std::uint64_t seen_all = 0;
    const auto queues = workers[0].queues().value();
    for (const queue_info& one : queues) {
        // What is past the ten days may have begun to tick again.
        const std::uint64_t seen = one.tasks.at(task_state::pending);
        EXPECT_GE(seen, wanted.at(one.name)) << one.name;
        EXPECT_LE(seen, wanted.at(one.name) + 4) << one.name;
        seen_all += seen;
    }
    EXPECT_EQ(seen_all, submitted);
    EXPECT_GE(submitted, all);
}

TEST(task_schedules, missed_ticks_are_caught_up_as_the_schedule_says) {
    test::task_bed bed;
    auto tasks = bed.open();
    const auto add = [&](std::string name, catch_up missed) {
        ASSERT_TRUE(tasks.schedule(
            {.name = name, .cron = "0 * * * *", .task = {.queue = name}, .missed = missed}));
    };
    add("all", catch_up::all);
    add("latest", catch_up::latest);
    add("none", catch_up::none);
    bed.time.advance(5h + 30min);
    EXPECT_EQ(tasks.table()->tick().value(), 6U);
    EXPECT_EQ(tasks.list({.queue = "all"}).value().size(), 5U);
    const auto latest = tasks.list({.queue = "latest"}).value();
    ASSERT_EQ(latest.size(), 1U);
    EXPECT_EQ(latest[0].id, "latest@20260101T0600Z");
    EXPECT_TRUE(tasks.list({.queue = "none"}).value().empty());
    bed.time.advance(30min + 10s);
    EXPECT_EQ(tasks.table()->tick().value(), 3U);  // in time, all three tick
    EXPECT_EQ(tasks.table()->tick().value(), 0U);
}

}  // namespace
}  // namespace holdfast

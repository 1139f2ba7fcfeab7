// SPDX-License-Identifier: Apache-2.0
//
// A worker is killed with SIGKILL at each of its steps, and at random moments: another finishes the
// task, its output is published once, and whoever looks at the place sees all of it or nothing.
#include "support/child_process.hpp"
#include "support/temporary_directory.hpp"
#include "support/wait_for.hpp"

#include <holdfast/entropy.hpp>
#include <holdfast/tasks/task_runner.hpp>

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr int killed = 128 + SIGKILL;

/// Looks at a place again and again: it is not there, or it is whole.
class onlooker {
public:
    explicit onlooker(fs::path place) : place_(std::move(place)), thread_([this] { look(); }) {}
    ~onlooker() {
        over_ = true;
        thread_.join();
    }
    [[nodiscard]] bool saw_a_part() const { return saw_a_part_; }

private:
    void look() {
        const std::set<std::string> whole{"one", "two", "three"};
        while (!over_) {
            std::error_code none;
            std::set<std::string> seen;
            for (fs::directory_iterator at(place_, none), end; !none && at != end;
                 at.increment(none)) {
                seen.insert(at->path().filename());
            }
            if (fs::exists(place_, none) && !seen.empty() && seen != whole) saw_a_part_ = true;
            ::poll(nullptr, 0, 1);
        }
    }

    const fs::path place_;
    std::atomic<bool> over_ = false;
    std::atomic<bool> saw_a_part_ = false;
    std::thread thread_;
};

class task_crash : public testing::TestWithParam<std::string> {
protected:
    [[nodiscard]] test::process_options worker(const std::string& moment, int lease_ms) const {
        return {.argv = {HOLDFAST_CRASH_WORKER, file_.native(), place_.native(),
                         std::to_string(lease_ms), moment},
                .output = folder_.path() / "log"};
    }
    void submit(std::uint32_t crashes) {
        ASSERT_TRUE(tasks_.submit({.id = "a1", .retry = {.crashes = crashes}}));
    }
    /// Nothing else is left beside the place, in whatever state it was found.
    void expect_one_output() {
        const auto row = tasks_.find("a1").value().value();
        EXPECT_EQ(row.state, task_state::finished) << row.error;
        EXPECT_EQ(row.failures, 0U);
        EXPECT_EQ(row.output, place_.native());
        std::set<std::string> beside;
        for (const auto& one : fs::directory_iterator(place_.parent_path())) {
            beside.insert(one.path().filename());
        }
        EXPECT_EQ(beside, std::set<std::string>{"done"});
        EXPECT_TRUE(fs::exists(place_ / "three"));
    }

    test::temporary_directory folder_;
    const fs::path file_ = folder_.path() / "tasks.db";
    const fs::path place_ = folder_.path() / "out" / "done";
    task_store tasks_ = open_tasks("sqlite:" + file_.native()).value();
};

TEST_P(task_crash, another_worker_finishes_what_one_left) {
    constexpr int lease_ms = 1500;
    submit(2);
    const onlooker looks(place_);
    test::child_process first(worker(GetParam(), lease_ms));
    ASSERT_EQ(first.wait(60s), killed) << first.log_tail();
    const time_point died = system_clock().now();
    // Its own lease is long, so that a slow machine does not take the task from it.
    test::child_process second(worker("never", 4000));
    ASSERT_EQ(second.wait(60s), 0) << second.log_tail();
    const duration took = system_clock().now() - died;
    RecordProperty("took_ms", std::to_string(took / 1ms));
    EXPECT_FALSE(looks.saw_a_part());
    expect_one_output();
    const auto row = tasks_.find("a1").value().value();
    const bool won = GetParam() == "after-publish" || GetParam().ends_with("finish");
    EXPECT_EQ(row.attempt, GetParam() == "before-claim" || won ? 1U : 2U);
    EXPECT_EQ(row.crashes, GetParam() == "before-claim" || won ? 0U : 1U);
}

INSTANTIATE_TEST_SUITE_P(moments, task_crash,
                         testing::Values("before-claim", "after-claim", "working", "before-renew",
                                         "after-renew", "before-publish", "after-publish",
                                         "before-finish", "after-finish"),
                         [](const auto& one) {
                             std::string name = one.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

using task_random_crash = task_crash;

TEST_P(task_random_crash, of_many_workers_that_are_killed_the_last_publishes) {
    seeded_entropy chance(26);
    submit(1000);
    const onlooker looks(place_);
    for (int i = 0; i < 12; ++i) {
        test::child_process one(worker("never", 100));
        ::poll(nullptr, 0, static_cast<int>(chance.below(120)));
        one.kill();
    }
    test::child_process last(worker("never", 4000));
    ASSERT_EQ(last.wait(60s), 0) << last.log_tail();
    EXPECT_FALSE(looks.saw_a_part());
    expect_one_output();
}

INSTANTIATE_TEST_SUITE_P(moments, task_random_crash, testing::Values("any"));

}  // namespace
}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "support/temporary_directory.hpp"
#include "support/wait_for.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::wait_for;
using testing::ElementsAre;

const task_handler succeeds = [](task_context&) -> result<std::string> { return "done"; };

void rest() {
    ::poll(nullptr, 0, 5);
}

class task_running : public testing::Test {
protected:
    [[nodiscard]] std::string url() const {
        return "sqlite:" + (folder_.path() / "tasks.db").native();
    }
    [[nodiscard]] task_state state_of(std::string_view id) {
        return tasks_.find(id).value().value().state;
    }
    void wait_until(std::string_view id, task_state state) {
        wait_for(
            std::string(id) + " to be " + std::string(to_string(state)),
            [&] { return state_of(id) == state; }, 60s);
    }
    [[nodiscard]] auto log() {
        return [this](const task_event& event) {
            const std::scoped_lock guard(mutex_);
            lines_.push_back(to_string(event));
        };
    }

    test::temporary_directory folder_;
    task_store tasks_ = open_tasks(url()).value();
    std::mutex mutex_;
    std::vector<std::string> lines_;
};

TEST_F(task_running, of_two_workers_with_one_video_one_succeeds_and_one_skips) {
    auto locks = open("memory:").value();
    std::latch began(1);
    std::latch may_end(1);
    const task_handler slow = [&](task_context&) -> result<std::string> {
        began.count_down();
        may_end.wait();
        return "done";
    };
    const task_runner_options options{
        .locks = &locks, .lock_prefix = "video_processing_lock:", .observer = log()};
    ASSERT_TRUE(tasks_.submit({.queue = "video", .id = "17"}));
    task_runner first(tasks_, slow, options);
    task_runner second(tasks_, slow, options);
    task_outcome mine;
    std::thread worker([&] { mine = first.process("17"); });
    began.wait();
    const auto skipped = second.process("17");
    EXPECT_TRUE(locks.inspect("video_processing_lock:17").value()->held());
    may_end.count_down();
    worker.join();
    EXPECT_EQ(to_json(mine, "video_id"), R"({"status":"success","video_id":17})");
    EXPECT_EQ(to_json(skipped, "video_id"),
              R"({"status":"skipped","reason":"already_processing"})");
    EXPECT_EQ(to_json(second.process("17"), "video_id"),
              R"({"status":"skipped","reason":"invalid_state"})");
    EXPECT_FALSE(locks.inspect("video_processing_lock:17").value());
    EXPECT_THAT(lines_,
                ElementsAre("task 17: received", "task 17: received",
                            "task 17: skipped: another task has the lock", "task 17: finished",
                            "task 17: lock released", "task 17: received",
                            "task 17: skipped: its state does not fit", "task 17: lock released"));
}

TEST_F(task_running, without_locks_the_row_alone_excludes) {
    std::latch began(1);
    std::latch may_end(1);
    task_runner runner(tasks_, [&](task_context&) -> result<std::string> {
        began.count_down();
        may_end.wait();
        return "done";
    });
    ASSERT_TRUE(tasks_.submit({.id = "a1"}));
    std::thread worker([&] { static_cast<void>(runner.process("a1")); });
    began.wait();
    EXPECT_EQ(runner.process("a1").reason, "already_processing");
    may_end.count_down();
    worker.join();
    EXPECT_EQ(runner.process("a1").reason, "invalid_state");
    EXPECT_EQ(runner.process("none").reason, "invalid_state");
    EXPECT_EQ(runner.process("a/b").what, task_outcome::status::error);
}

TEST_F(task_running, a_lock_is_released_whatever_the_handler_does) {
    auto locks = open("memory:").value();
    task_runner runner(tasks_,
                       [&](task_context& context) -> result<std::string> {
                           if (context.task().arguments == "throw") throw std::runtime_error("bad");
                           return fail(errc::unavailable, "no disk");
                       },
                       {.locks = &locks, .observer = log()});
    ASSERT_TRUE(tasks_.submit({.arguments = "throw", .id = "a1", .retry = {.retries = 0}}));
    ASSERT_TRUE(tasks_.submit({.id = "a2", .retry = {.retries = 0}}));
    EXPECT_EQ(to_json(runner.process("a1")), R"({"status":"error","reason":"exception: bad"})");
    EXPECT_EQ(to_json(runner.process("a2")), R"({"status":"error","reason":"no disk"})");
    EXPECT_TRUE(locks.list().value().empty());
    EXPECT_EQ(state_of("a1"), task_state::dead);
    EXPECT_THAT(lines_, testing::Contains("task a2: failed: no disk"));
    EXPECT_THAT(lines_, testing::Contains("task a2: dead: no disk"));
}

TEST_F(task_running, failures_are_retried_and_a_hopeless_task_is_dead_at_once) {
    std::atomic<int> runs = 0;
    task_runner runner(tasks_, [&](task_context& context) -> result<std::string> {
        if (context.task().arguments == "hopeless") return fail(errc::invalid_argument, "no video");
        if (++runs < 3) return fail(errc::unavailable, "again");
        return "done";
    });
    ASSERT_TRUE(tasks_.submit({.id = "a1", .retry = {.pause = 0s}}));
    ASSERT_TRUE(tasks_.submit({.arguments = "hopeless", .id = "a2"}));
    runner.start();
    wait_until("a1", task_state::finished);
    wait_until("a2", task_state::dead);
    EXPECT_EQ(tasks_.find("a1").value()->failures, 2U);
    EXPECT_EQ(tasks_.find("a1").value()->attempt, 3U);
    EXPECT_EQ(tasks_.find("a2").value()->error, "no video");
    runner.stop();
    EXPECT_EQ(runner.statistics().finished, 1U);
    EXPECT_EQ(runner.statistics().failed, 3U);
}

TEST_F(task_running, a_dead_workers_task_is_run_by_another) {
    ASSERT_TRUE(tasks_.submit({.id = "a1"}));
    ASSERT_TRUE(tasks_.table() != nullptr);
    // A worker that claims and is never heard of again: its lock's process dies with it.
    auto dead = open_tasks(url()).value();
    task_runner gone(dead, succeeds, {.lease = 300ms});
    std::latch claimed(1);
    std::latch end(1);
    task_runner stuck(dead,
                      [&](task_context& context) -> result<std::string> {
                          claimed.count_down();
                          end.wait();  // and nobody renews: this runner was not started
                          EXPECT_EQ(context.fence().value, 1U);
                          return "too late";
                      },
                      {.lease = 300ms, .observer = log()});
    std::thread paused([&] { EXPECT_EQ(stuck.process("a1").what, task_outcome::status::error); });
    claimed.wait();
    task_runner alive(tasks_, succeeds, {.lease = 300ms});
    alive.start();
    wait_until("a1", task_state::finished);
    end.count_down();
    paused.join();
    const auto row = tasks_.find("a1").value().value();
    EXPECT_EQ(row.result, "done");
    EXPECT_EQ(row.crashes, 1U);
    EXPECT_THAT(
        lines_,
        testing::Contains("task a1: lost: another worker has taken it over; nothing was written"));
}

TEST_F(task_running, a_long_task_keeps_its_lease_and_reports_progress) {
    std::atomic<bool> may_end = false;
    task_runner runner(tasks_,
                       [&](task_context& context) -> result<std::string> {
                           context.progress(0.25, "a quarter");
                           while (!may_end && !context.stop().stop_requested()) {
                               rest();
                           }
                           return may_end ? result<std::string>("done")
                                          : fail(errc::cancelled, "stopped");
                       },
                       {.lease = 2s});
    ASSERT_TRUE(tasks_.submit({.id = "a1"}));
    runner.start();
    wait_for(
        "a renewal with the progress",
        [&] { return tasks_.find("a1").value()->note == "a quarter"; }, 60s);
    EXPECT_DOUBLE_EQ(tasks_.find("a1").value()->progress, 0.25);
    may_end = true;
    wait_until("a1", task_state::finished);
}

TEST_F(task_running, a_task_is_cancelled_from_outside) {
    task_runner runner(tasks_,
                       [&](task_context& context) -> result<std::string> {
                           while (!context.stop().stop_requested()) rest();
                           return fail(errc::cancelled, "stopped");
                       },
                       {.lease = 1s});
    ASSERT_TRUE(tasks_.submit({.id = "a1"}));
    runner.start();
    wait_until("a1", task_state::running);
    ASSERT_TRUE(tasks_.cancel("a1"));
    wait_until("a1", task_state::cancelled);
}

TEST_F(task_running, a_task_that_runs_for_too_long_has_failed) {
    task_runner runner(tasks_,
                       [&](task_context& context) -> result<std::string> {
                           while (!context.stop().stop_requested()) rest();
                           return fail(errc::cancelled, "stopped");
                       },
                       {.max_hold = 50ms});
    ASSERT_TRUE(tasks_.submit({.id = "a1", .retry = {.retries = 0}}));
    runner.start();
    wait_until("a1", task_state::dead);
    EXPECT_EQ(tasks_.find("a1").value()->error, "it ran for longer than max_hold");
}

TEST_F(task_running, a_worker_that_stops_gives_its_task_back_and_one_that_drains_ends_it) {
    std::atomic<bool> may_end = false;
    const task_handler waits = [&](task_context& context) -> result<std::string> {
        while (!may_end && !context.stop().stop_requested()) rest();
        return may_end ? result<std::string>("done") : fail(errc::cancelled, "stopped");
    };
    ASSERT_TRUE(tasks_.submit({.id = "a1"}));
    {
        task_runner stops(tasks_, waits);
        stops.start();
        wait_until("a1", task_state::running);
        stops.stop();
        const auto row = tasks_.find("a1").value().value();
        EXPECT_EQ(row.state, task_state::pending);
        EXPECT_EQ(row.attempt, 0U);
        EXPECT_EQ(row.failures, 0U);
    }
    task_runner drains(tasks_, waits);
    drains.start();
    wait_until("a1", task_state::running);
    EXPECT_FALSE(drains.drain(10ms));
    ASSERT_TRUE(tasks_.submit({.id = "a2"}));
    may_end = true;
    EXPECT_TRUE(drains.drain());
    EXPECT_EQ(state_of("a1"), task_state::finished);
    EXPECT_EQ(state_of("a2"), task_state::pending);
}

TEST_F(task_running, many_tasks_over_several_workers_run_once_each) {
    std::mutex mutex;
    std::multiset<std::string> ran;
    std::vector<std::unique_ptr<task_runner>> runners;
    constexpr int count = 200;
    for (int i = 0; i < count; ++i) ASSERT_TRUE(tasks_.submit({.id = "t" + std::to_string(i)}));
    std::vector<task_store> stores;
    for (int i = 0; i < 3; ++i) stores.push_back(open_tasks(url()).value());
    for (const task_store& one : stores) {
        runners.push_back(std::make_unique<task_runner>(
            one,
            [&](task_context& context) -> result<std::string> {
                const std::scoped_lock guard(mutex);
                ran.insert(context.task().id);
                return "";
            },
            task_runner_options{.concurrency = 2}));
        runners.back()->start();
    }
    wait_for(
        "all tasks",
        [&] {
            const auto queues = tasks_.queues().value();
            return queues.at(0).tasks.contains(task_state::finished) &&
                   queues.at(0).tasks.at(task_state::finished) == count;
        },
        120s);
    runners.clear();
    EXPECT_EQ(ran.size(), count);
    EXPECT_EQ(std::set<std::string>(ran.begin(), ran.end()).size(), count);
}

TEST_F(task_running, output_appears_at_once_and_a_failed_tasks_never) {
    namespace fs = std::filesystem;
    const fs::path place = folder_.path() / "out" / "a1";
    task_runner runner(tasks_, [&](task_context& context) -> result<std::string> {
        const auto staged = context.output(place.native());
        if (!staged) return fail(staged.error().code, staged.error().detail);
        std::ofstream(fs::path(*staged) / "file") << "x";
        EXPECT_FALSE(fs::exists(place));
        if (context.task().failures == 0) return fail(errc::unavailable, "again");
        return "done";
    });
    ASSERT_TRUE(tasks_.submit({.id = "a1", .retry = {.pause = 0s}}));
    EXPECT_EQ(runner.process("a1").reason, "again");
    EXPECT_TRUE(fs::is_empty(place.parent_path()));
    EXPECT_EQ(runner.process("a1").what, task_outcome::status::success);
    EXPECT_TRUE(fs::exists(place / "file"));
    EXPECT_EQ(tasks_.find("a1").value()->output, place.native());
}

}  // namespace
}  // namespace holdfast

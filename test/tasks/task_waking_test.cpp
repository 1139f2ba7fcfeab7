// SPDX-License-Identifier: Apache-2.0
//
// Runners whose next look would be an hour away: what they start in time, they were woken for.
#include "support/temporary_directory.hpp"
#include "support/wait_for.hpp"
#include "task_servers.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::wait_for;

class task_waking : public testing::TestWithParam<std::string> {
protected:
    void wait_until_it_listens() {
        wait_for(
            "the runner to listen", [&] { return tasks_.table()->hears_others(); }, 60s);
    }
    void wait_for_runs(int wanted) {
        wait_for(
            std::to_string(wanted) + " runs", [&] { return runs_ == wanted; }, 60s);
    }
    [[nodiscard]] task_runner make_runner() {
        return {tasks_,
                [this](task_context&) -> result<std::string> {
                    ++runs_;
                    return "done";
                },
                {.poll = 1h}};
    }

    test::temporary_directory folder_;
    const std::filesystem::path file_ = folder_.path() / "tasks.db";
    const std::string url_ = test::empty_task_database(GetParam(), file_.native());
    task_store tasks_ = open_tasks(url_).value();
    task_store other_ = open_tasks(url_).value();  // as another process: it shares nothing
    std::atomic<int> runs_ = 0;
};

TEST_P(task_waking, a_runner_hears_what_others_submit_requeue_and_resume) {
    auto runner = make_runner();
    runner.start();
    wait_until_it_listens();
    for (int i = 1; i <= 5; ++i) {
        ASSERT_TRUE(other_.submit({}));
        wait_for_runs(i);
    }
    ASSERT_TRUE(other_.pause("default"));
    ASSERT_TRUE(other_.submit({.id = "late"}));
    ASSERT_EQ(other_.cancel("late").value(), task_state::cancelled);
    ASSERT_TRUE(other_.requeue("late"));
    ASSERT_TRUE(other_.resume("default"));
    wait_for_runs(6);
}

TEST_P(task_waking, a_delayed_task_starts_when_it_is_due) {
    auto runner = make_runner();
    runner.start();
    wait_until_it_listens();
    ASSERT_TRUE(other_.submit({.delay = 200ms}));
    wait_for_runs(1);
}

TEST_P(task_waking, a_task_that_is_given_back_is_taken_by_another_worker) {
    auto heir = make_runner();
    std::atomic<bool> began = false;
    task_runner first(other_,
                      [&](task_context& context) -> result<std::string> {
                          began = true;
                          while (!context.stop().stop_requested()) {
                              std::this_thread::sleep_for(5ms);
                          }
                          return fail(errc::cancelled, "stopped");
                      },
                      {.poll = 1h});
    first.start();
    ASSERT_TRUE(other_.submit({.id = "a1"}));
    wait_for(
        "the first to begin", [&] { return began.load(); }, 60s);
    heir.start();
    wait_until_it_listens();
    first.stop();
    wait_for_runs(1);
}

INSTANTIATE_TEST_SUITE_P(engines, task_waking, testing::ValuesIn(test::task_engines()),
                         [](const auto& one) { return one.param; });

TEST(task_files, a_file_that_was_replaced_is_watched_again) {
    const test::temporary_directory folder;
    const auto file = folder.path() / "tasks.db";
    auto tasks = open_tasks("sqlite:" + file.native()).value();
    ASSERT_TRUE(tasks.submit({}));
    const auto wakes = std::make_shared<std::atomic<int>>(0);
    const auto waker = tasks.table()->add_waker([wakes] { ++*wakes; });
    wait_for(
        "it to listen", [&] { return tasks.table()->hears_others(); }, 60s);
    for (const char* one : {"tasks.db", "tasks.db-wal", "tasks.db-shm"}) {
        std::filesystem::remove(folder.path() / one);
    }
    auto other = open_tasks("sqlite:" + file.native()).value();
    wait_for(
        "a submission to the new file to be heard",
        [&] {
            const int before = *wakes;
            EXPECT_TRUE(other.submit({}));
            std::this_thread::sleep_for(20ms);
            return *wakes > before;
        },
        60s);
    tasks.table()->drop_waker(waker);
}

}  // namespace
}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
//
// Runners whose next look would be an hour away: what they start in time, they were woken for.
#include "support/temporary_directory.hpp"
#include "support/wait_for.hpp"
#include "task_servers.hpp"
#include "tasks/task_table.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using test::wait_for;

void rest(std::chrono::milliseconds time) {
    ::poll(nullptr, 0, static_cast<int>(time.count()));
}

class task_waking : public testing::TestWithParam<std::string> {
protected:
    void wait_until_it_listens() {
        wait_for("the runner to listen", [&] { return tasks_.table()->hears_others(); }, 60s);
    }
    void wait_for_runs(int wanted) {
        wait_for(std::to_string(wanted) + " runs", [&] { return runs_ == wanted; }, 60s);
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
                              rest(5ms);
                          }
                          return fail(errc::cancelled, "stopped");
                      },
                      {.poll = 1h});
    first.start();
    ASSERT_TRUE(other_.submit({.id = "a1"}));
    wait_for("the first to begin", [&] { return began.load(); }, 60s);
    heir.start();
    wait_until_it_listens();
    first.stop();
    wait_for_runs(1);
}

INSTANTIATE_TEST_SUITE_P(engines, task_waking, testing::ValuesIn(test::waking_engines()),
                         [](const auto& one) { return one.param; });

class task_crowds : public testing::TestWithParam<std::string> {};

TEST_P(task_crowds, of_a_limited_queue_so_many_run_and_each_once) {
    const test::temporary_directory folder;
    const auto url = test::empty_task_database(GetParam(), (folder.path() / "tasks.db").native());
    auto tasks = open_tasks(url).value();
    auto other = open_tasks(url).value();
    ASSERT_TRUE(tasks.limit("default", 2));
    std::atomic<int> running = 0;
    std::atomic<int> most = 0;
    std::atomic<int> runs = 0;
    const task_handler counts = [&](task_context&) -> result<std::string> {
        const int now = ++running;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        rest(1ms);
        --running;
        ++runs;
        return "done";
    };
    constexpr int count = 30;
    for (int i = 0; i < count; ++i) {
        ASSERT_TRUE(tasks.submit({.unique_key = "key " + std::to_string(i)}));
    }
    task_runner first(tasks, counts, {.concurrency = 3, .poll = 10ms});
    task_runner second(other, counts, {.concurrency = 3, .poll = 10ms});
    first.start();
    second.start();
    const auto finished = [&] { return tasks.queues().value().at(0).tasks[task_state::finished]; };
    wait_for("all to finish", [&] { return finished() == count; }, 60s);
    EXPECT_EQ(runs, count);
    EXPECT_LE(most, 2);
    EXPECT_EQ(first.statistics().claimed + second.statistics().claimed,
              static_cast<std::uint64_t>(count));
}

INSTANTIATE_TEST_SUITE_P(engines, task_crowds, testing::ValuesIn(test::task_engines()),
                         [](const auto& one) { return one.param; });

TEST(task_files, a_file_that_was_replaced_is_watched_again) {
    const test::temporary_directory folder;
    const auto file = folder.path() / "tasks.db";
    auto tasks = open_tasks("sqlite:" + file.native()).value();
    ASSERT_TRUE(tasks.submit({}));
    const auto wakes = std::make_shared<std::atomic<int>>(0);
    const auto waker = tasks.table()->add_waker([wakes] { ++*wakes; });
    wait_for("it to listen", [&] { return tasks.table()->hears_others(); }, 60s);
    for (const char* one : {"tasks.db", "tasks.db-wal", "tasks.db-shm"}) {
        std::filesystem::remove(folder.path() / one);
    }
    auto other = open_tasks("sqlite:" + file.native()).value();
    wait_for(
        "a submission to the new file to be heard",
        [&] {
            const int before = *wakes;
            EXPECT_TRUE(other.submit({}));
            rest(20ms);
            return *wakes > before;
        },
        60s);
    tasks.table()->drop_waker(waker);
}

}  // namespace
}  // namespace holdfast

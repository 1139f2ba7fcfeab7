// SPDX-License-Identifier: Apache-2.0
//
// Reports that must be made once each, by any worker: one fails at first and is tried again, one is
// hopeless. Tasks are kept in a database: a SQLite file here, or the URL that is given.
#include <holdfast/tasks/task_runner.hpp>

#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <latch>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    const auto file = std::filesystem::temp_directory_path() /
                      ("holdfast_tasks_" + std::to_string(::getpid()) + ".db");
    auto tasks = holdfast::open_tasks(argc > 1 ? argv[1] : "sqlite:" + file.string());
    if (!tasks) return 1;

    const holdfast::retry_policy soon{.retries = 3, .pause = 10ms};
    auto may = tasks->submit({.arguments = "May", .retry = soon});
    auto june = tasks->submit({.arguments = "June", .retry = soon, .unique_key = "June"});
    auto again = tasks->submit({.arguments = "June", .unique_key = "June"});
    auto never = tasks->submit({.arguments = "Smarch"});
    if (!may || !june || !again || !never || again->created) return 1;

    std::latch ended(3);
    holdfast::task_runner runner(
        *tasks,
        [](holdfast::task_context& context) -> holdfast::result<std::string> {
            const auto& task = context.task();
            if (task.arguments == "Smarch") {
                return holdfast::fail(holdfast::errc::invalid_argument, "there is no such month");
            }
            if (task.arguments == "May" && task.failures == 0) {
                return holdfast::fail(holdfast::errc::unavailable, "the printer is busy");
            }
            context.progress(0.5, "half of it");
            return "report of " + task.arguments + ", fence " + to_string(context.fence());
        },
        {.observer = [&](const holdfast::task_event& event) {
            using enum holdfast::task_event::kind;
            std::cout << to_string(event) << '\n';
            if (event.what == finished || event.what == buried) ended.count_down();
        }});
    runner.start();
    ended.wait();
    runner.stop();
    const auto last = tasks->find(may->id).value().value();
    std::cout << last.result << ", after " << last.failures << " failure\n";
    const bool dead = tasks->find(never->id).value()->state == holdfast::task_state::dead;
    for (const auto* end : {"", "-wal", "-shm", "-alive"})
        std::filesystem::remove(file.string() + end);
    return dead && last.failures == 1 ? 0 : 1;
}

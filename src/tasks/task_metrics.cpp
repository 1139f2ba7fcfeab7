// SPDX-License-Identifier: Apache-2.0
#include <holdfast/tasks/task_metrics.hpp>

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace holdfast {
namespace {

void put_head(std::string& out, std::string_view name, std::string_view help,
              std::string_view type) {
    fmt::format_to(std::back_inserter(out), "# HELP holdfast_{0} {1}\n# TYPE holdfast_{0} {2}\n",
                   name, help, type);
}

}  // namespace

std::string to_prometheus(const task_runner_statistics& seen) {
    std::string out;
    const auto put = [&](std::string_view name, std::string_view help, std::string_view type,
                         std::uint64_t value) {
        put_head(out, name, help, type);
        fmt::format_to(std::back_inserter(out), "holdfast_{} {}\n", name, value);
    };
    put("tasks_claimed_total", "Tasks that a worker here began.", "counter", seen.claimed);
    put("tasks_finished_total", "Tasks that finished here.", "counter", seen.finished);
    put("tasks_failed_total", "Attempts whose handler failed.", "counter", seen.failed);
    put("tasks_lost_total", "Attempts that lost their lease.", "counter", seen.lost);
    put("tasks_rescued_total", "Tasks of dead workers that were made pending again.", "counter",
        seen.rescued);
    put("tasks_buried_total", "Tasks found to have failed or crashed too often.", "counter",
        seen.buried);
    put("task_ticks_total", "Recurring tasks that were submitted.", "counter", seen.ticks);
    put("tasks_running", "Tasks that run here now.", "gauge", seen.running);
    return out;
}

std::string to_prometheus(std::span<const queue_info> queues) {
    using enum task_state;
    constexpr std::array states{pending, running, publishing, finished, dead, cancelled};
    std::string out;
    put_head(out, "queue_tasks", "Tasks in the database, by state.", "gauge");
    for (const queue_info& one : queues) {
        for (const task_state state : states) {
            const auto count = one.tasks.find(state);
            fmt::format_to(std::back_inserter(out),
                           "holdfast_queue_tasks{{queue=\"{}\",state=\"{}\"}} {}\n", one.name,
                           to_string(state), count == one.tasks.end() ? 0 : count->second);
        }
    }
    put_head(out, "queue_paused", "Whether nothing of the queue is claimed.", "gauge");
    for (const queue_info& one : queues) {
        fmt::format_to(std::back_inserter(out), "holdfast_queue_paused{{queue=\"{}\"}} {}\n",
                       one.name, one.paused ? 1 : 0);
    }
    return out;
}

}  // namespace holdfast

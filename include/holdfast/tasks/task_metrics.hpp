// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/tasks/task_runner.hpp>
#include <holdfast/tasks/task_store.hpp>

#include <span>
#include <string>

/// Tasks as text for Prometheus (exposition format 0.0.4).
///
/// Example:
///
///     body += holdfast::to_prometheus(runner.statistics());
///     if (auto queues = tasks.queues()) body += holdfast::to_prometheus(*queues);
///
/// What a runner counted is of its process; what queues hold is the same for all who ask, so let
/// one program report it.
namespace holdfast {

/// `holdfast_tasks_claimed_total`, `_finished_total`, `_failed_total`, `_lost_total`,
/// `_rescued_total`, `_buried_total`, `holdfast_task_ticks_total`, `holdfast_tasks_running`.
[[nodiscard]] std::string to_prometheus(const task_runner_statistics& seen);

/// `holdfast_queue_tasks{queue="mail",state="pending"}` for each state, also those without a task;
/// `holdfast_queue_paused{queue="mail"}`.
[[nodiscard]] std::string to_prometheus(std::span<const queue_info> queues);

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include <holdfast/tasks/task_store.hpp>

#include "tasks/task_checks.hpp"
#include "tasks/task_table.hpp"

#include <fmt/format.h>

#include <utility>

namespace holdfast {

using detail::check_queue;
using detail::check_task_id;

task_store::task_store(std::shared_ptr<detail::task_table> table) : table_(std::move(table)) {}

result<submitted_task> task_store::submit(const task_submission& what) {
    return table_->submit(what);
}

result<std::optional<task_info>> task_store::find(std::string_view id) {
    if (auto fit = check_task_id(id); !fit) return std::unexpected(std::move(fit.error()));
    return table_->find(id);
}

result<std::vector<task_info>> task_store::list(const task_filter& which) {
    if (!which.queue.empty()) {
        if (auto fit = check_queue(which.queue); !fit) return std::unexpected(fit.error());
    }
    return table_->list(which);
}

result<task_state> task_store::cancel(std::string_view id) {
    if (auto fit = check_task_id(id); !fit) return std::unexpected(std::move(fit.error()));
    const auto done = table_->cancel(id);
    if (!done) return std::unexpected(done.error());
    if (*done) return **done;
    return fail(errc::invalid_argument,
                fmt::format("there is no task '{}' that is pending or running", id));
}

result<void> task_store::requeue(std::string_view id) {
    if (auto fit = check_task_id(id); !fit) return fit;
    const auto done = table_->requeue(id);
    if (!done) return std::unexpected(done.error());
    if (*done) return {};
    return fail(errc::invalid_argument,
                fmt::format("there is no dead or cancelled task '{}', or another task has its "
                            "unique key by now",
                            id));
}

result<void> task_store::pause(std::string_view queue) {
    return table_->set_paused(queue, 1);
}

result<void> task_store::resume(std::string_view queue) {
    return table_->set_paused(queue, 0);
}

result<void> task_store::limit(std::string_view queue, std::uint32_t most_running) {
    return table_->set_limit(queue, most_running);
}

result<std::vector<queue_info>> task_store::queues() {
    return table_->queues();
}

result<void> task_store::schedule(const task_schedule& what) {
    return table_->schedule(what);
}

result<bool> task_store::unschedule(std::string_view name) {
    return table_->unschedule(name);
}

result<std::vector<task_schedule>> task_store::schedules() {
    return table_->schedules();
}

result<std::uint64_t> task_store::forget(duration older_than) {
    if (older_than < duration::zero()) {
        return fail(errc::invalid_argument, "forget: the age must not be negative");
    }
    return table_->forget(older_than);
}

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#include "commands/serve/task_watch.hpp"

#include "commands/serve/api_answers.hpp"
#include "core/json_text.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace holdfast::app {
namespace {

constexpr duration watch_pause = std::chrono::seconds(1);

std::vector<busy_worker> workers_of(const std::vector<task_info>& running) {
    std::map<std::string, std::size_t> counts;
    for (const task_info& one : running) ++counts[one.owner];
    std::vector<busy_worker> out;
    for (const auto& [name, tasks] : counts) out.push_back({name, tasks});
    return out;
}

std::string queue_json(const queue_info& queue) {
    detail::json_object out;
    out.put("name", queue.name);
    out.put("paused", queue.paused);
    out.put("limit", queue.most_running);
    for (const auto state : {task_state::pending, task_state::running, task_state::publishing,
                             task_state::finished, task_state::dead, task_state::cancelled}) {
        const auto count = queue.tasks.find(state);
        out.put(to_string(state), count == queue.tasks.end() ? 0 : count->second);
    }
    return out.text();
}

std::string task_row(const task_info& task) {
    detail::json_object out;
    out.put("id", task.id);
    out.put("queue", task.queue);
    out.put("state", to_string(task.state));
    out.put("worker", task.owner);
    out.put("fence", task.fence.value);
    out.put("attempt", task.attempt);
    out.put("failures", task.failures);
    out.put("crashes", task.crashes);
    out.put("progress", task.progress);
    out.put("note", task.note);
    out.put("error", task.error);
    out.put("leaseMs", in_milliseconds(task.lease_left));
    return out.text();
}

template <class Rows, class Show>
std::string array_of(const Rows& rows, Show show) {
    std::vector<std::string> out;
    for (const auto& one : rows) out.push_back(show(one));
    return detail::json_array(out);
}

}  // namespace

task_watch::task_watch(task_store tasks, clock& time) : tasks_(std::move(tasks)), time_(time) {}

task_view task_watch::read() {
    task_view view;
    auto queues = tasks_.queues();
    const auto rows_in = [&](task_state state) {
        return tasks_.list({.state = state, .limit = most_rows});
    };
    auto running = queues ? rows_in(task_state::running) : std::unexpected(queues.error());
    auto publishing = running ? rows_in(task_state::publishing) : std::unexpected(running.error());
    auto dead = publishing ? rows_in(task_state::dead) : std::unexpected(publishing.error());
    if (!dead) {
        view.trouble = dead.error().detail;
        return view;
    }
    view.queues = std::move(*queues);
    view.running = std::move(*running);
    std::ranges::move(*publishing, std::back_inserter(view.running));
    view.running.resize(std::min<std::size_t>(view.running.size(), most_rows));
    view.dead = std::move(*dead);
    view.workers = workers_of(view.running);
    return view;
}

std::shared_ptr<const task_view> task_watch::look() {
    const std::scoped_lock guard(looking_);
    const time_point begin = time_.now();
    if (last_ != nullptr && begin < next_) return last_;
    last_ = std::make_shared<const task_view>(read());
    const time_point end = time_.now();
    next_ = end + std::max<duration>(watch_pause, 20 * (end - begin));
    return last_;
}

result<void> task_watch::requeue(std::string_view id) {
    auto done = tasks_.requeue(id);
    const std::scoped_lock guard(looking_);
    next_ = {};
    return done;
}

std::string tasks_json(const task_view& view) {
    detail::json_object out;
    out.put("trouble", view.trouble);
    out.raw("queues", array_of(view.queues, queue_json));
    out.raw("running", array_of(view.running, task_row));
    out.raw("dead", array_of(view.dead, task_row));
    out.raw("workers", array_of(view.workers, [](const busy_worker& one) {
                detail::json_object row;
                row.put("name", one.name);
                row.put("tasks", one.tasks);
                return row.text();
            }));
    return out.text();
}

}  // namespace holdfast::app

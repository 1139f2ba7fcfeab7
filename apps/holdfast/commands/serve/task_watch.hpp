// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/tasks/task_store.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

/// Looks at a task store for /ops and /metrics.
///
/// Counting goes through all tasks. However many watch, and however many tasks there are, it is
/// done at most once a second, and takes at most a twentieth of the time.
namespace holdfast::app {

/// A worker that runs something: an idle one leaves no trace in the tables.
struct busy_worker {
    std::string name;  ///< Host, pid, number.
    std::size_t tasks = 0;
};

struct task_view {
    std::string trouble;  ///< Why the store did not answer; empty if it did.
    std::vector<queue_info> queues;
    std::vector<task_info> running;  ///< Publishing ones too; at most task_watch::most_rows.
    std::vector<task_info> dead;     ///< The newest so many.
    std::vector<busy_worker> workers;
};

/// Thread safety: all members may be called from any thread.
class task_watch {
public:
    explicit task_watch(task_store tasks, clock& time = system_clock());

    /// Blocks: some requests to the database, unless another call has just made them.
    [[nodiscard]] std::shared_ptr<const task_view> look();

    /// As task_store::requeue(); the next look sees it.
    [[nodiscard]] result<void> requeue(std::string_view id);

    static constexpr std::uint32_t most_rows = 100;

private:
    [[nodiscard]] task_view read();

    task_store tasks_;
    clock& time_;
    std::mutex looking_;  // one look at a time
    std::shared_ptr<const task_view> last_;
    time_point next_{};
};

/// For the page (docs/reference/ops_api.md).
[[nodiscard]] std::string tasks_json(const task_view& view);

}  // namespace holdfast::app

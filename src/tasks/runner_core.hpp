// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tasks/task_attempt.hpp"

#include <holdfast/tasks/task_runner.hpp>

#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

/// The threads of a runner: some that run handlers, one for upkeep, one for deadlines.
///
/// The first each look for a task, run it, write what came of it, and look again. The upkeep calls
/// task_attempt::keep() of everything that runs, rescues the tasks of dead workers, finishes what
/// they were publishing, and submits recurring tasks. It waits for the database, so the deadlines
/// of leases have a thread of their own, which waits for nobody. All decisions about one task are
/// in task_attempt.
namespace holdfast::detail {

/// A task that runs here.
struct active_task {
    std::shared_ptr<task_attempt> attempt;  ///< Shared with the upkeep while it renews.
    clock* time = nullptr;
    std::optional<lease> lock = {};
};

class runner_core {
public:
    runner_core(std::shared_ptr<task_table> table, task_handler handler,
                task_runner_options options);
    ~runner_core();
    runner_core(const runner_core&) = delete;
    runner_core& operator=(const runner_core&) = delete;

    void start();
    [[nodiscard]] bool drain(duration at_most);
    void stop();
    [[nodiscard]] task_outcome process(std::string_view id);
    [[nodiscard]] task_runner_statistics statistics() const;

private:
    // Handlers.
    void work();
    [[nodiscard]] duration idle_pause();
    enum class found : std::uint8_t { work, nothing, trouble };
    [[nodiscard]] found work_once();
    [[nodiscard]] found work_on(const std::string& queue);
    enum class claim_outcome : std::uint8_t { refused, failed, claimed };
    [[nodiscard]] task_outcome process_one(std::string_view id, claim_outcome& how);
    [[nodiscard]] task_outcome run_claimed(active_task& task);
    [[nodiscard]] std::optional<task_outcome> take_lock(std::string_view id,
                                                        std::optional<lease>& out);
    [[nodiscard]] task_outcome not_claimed(std::string_view id);
    [[nodiscard]] handler_end call_handler(active_task& task);
    void settle(task_attempt& attempt);
    [[nodiscard]] task_outcome report_end(const task_attempt& attempt);
    void release_lock(active_task& task);

    // Upkeep.
    void keep_up();
    void watch_deadlines();
    [[nodiscard]] std::vector<std::shared_ptr<task_attempt>> attempts() const;
    [[nodiscard]] time_point keep_all(time_point now);
    void look_after_others();
    void finish_stalled(const stalled_output& what);

    void tell(task_event::kind what, std::string_view id, std::string_view reason = "") const;
    void enter(active_task& task);
    void leave(active_task& task);
    void wake();

    const std::shared_ptr<task_table> table_;
    const task_handler handler_;
    const task_runner_options options_;
    const std::string owner_;
    clock& clock_;
    std::uint64_t waker_ = 0;

    mutable std::mutex mutex_;
    std::condition_variable work_changed_;
    std::condition_variable upkeep_changed_;
    std::list<active_task*> active_;
    std::uint64_t submissions_ =
        0;  // grows with each, so that none is missed between look and wait
    bool draining_ = false;
    bool stopping_ = false;
    bool ended_ = false;  // the upkeep too
    std::uint32_t busy_ = 0;
    task_runner_statistics counted_;
    std::vector<std::thread> threads_;
    std::thread upkeep_;
    std::thread deadlines_;
};

}  // namespace holdfast::detail

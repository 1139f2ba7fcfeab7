// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/tasks/task_store.hpp>

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// Runs the tasks of a task_store: claims one, runs the handler under a renewed lease, and writes
/// what came of it with the fence of its claim.
///
/// **Two layers.** First the lock (`lock_prefix` and the id), if there is a client for locks: it
/// excludes whoever uses the same key, other programs too. Then one atomic conditional UPDATE of
/// the row, which is the truth. A lock that is held answers `skipped/already_processing`, a row
/// that does not fit `skipped/invalid_state`. The lock is released whatever happens, by its owner
/// only.
///
/// **A worker that dies** stops renewing. When the lease is over, another worker counts a crash and
/// runs the task again. **A worker that is paused** past its lease is told by its stop token when
/// it wakes; its fence is old by then, and its writes are refused.
///
/// **Output.** A handler writes files into task_context::output(), a directory beside the final
/// place. When it returns, the row is won first (state `publishing`), then one rename moves the
/// directory into place, then the row is finished. If the worker dies in between, another one does
/// the rename; nobody sees half of it.
///
/// Example:
///
///     holdfast::task_runner runner(tasks, [](holdfast::task_context& context) {
///         for (int page = 0; page < 10 && !context.stop().stop_requested(); ++page) {
///             render(page, context.fence());
///             context.progress((page + 1) / 10.0);
///         }
///         return holdfast::result<std::string>("10 pages");
///     });
///     runner.start();
namespace holdfast {

namespace detail {
class runner_core;
struct active_task;
}  // namespace detail

/// A handler's view of its task.
///
/// Thread safety: all members may be called from any thread.
class task_context {
public:
    explicit task_context(detail::active_task& of) noexcept : of_(&of) {}

    /// The row as it was claimed.
    [[nodiscard]] const task_info& task() const noexcept;
    /// Send it with every write that must not come from a worker that lost the task.
    [[nodiscard]] fencing_token fence() const noexcept;
    /// Fires when the task is lost, cancelled, has run for `max_hold`, or the runner stops: always
    /// before another worker may run it. Return soon then; what is returned does not matter.
    [[nodiscard]] std::stop_token stop() const noexcept;
    /// Says how far it is, 0 to 1, and a few words. Written with the next renewal; never blocks.
    void progress(double fraction, std::string_view note = "");
    /// How long it may still run.
    [[nodiscard]] duration remaining() const noexcept;
    /// How long its lease lasts without another renewal; zero if it is lost.
    [[nodiscard]] duration lease_left() const noexcept;

    /// Makes an empty directory beside `final_place`, for files that are published together: when
    /// the handler returns, it becomes `final_place` by one rename. Later calls return the same.
    /// Errors: invalid_argument (something is there already), unavailable (it cannot be made).
    [[nodiscard]] result<std::string> output(std::string_view final_place);

private:
    detail::active_task* of_;
};

/// Returns the task's result, a text for people of at most 4096 bytes. An error fails the task, and
/// it is tried again; errc::invalid_argument means that no retry would help, and it is dead at
/// once. An exception is a failure.
using task_handler = std::function<result<std::string>(task_context&)>;

/// What a runner reports; to_string() is the log line.
struct task_event {
    enum class kind : std::uint8_t {
        received,            ///< task a1: received
        already_processing,  ///< task a1: skipped: another task has the lock
        invalid_state,       ///< task a1: skipped: its state does not fit
        finished,            ///< task a1: finished
        failed,              ///< task a1: failed: REASON
        lost,                ///< task a1: lost: REASON; nothing was written
        given_back,          ///< task a1: given back: the worker stops
        rescued,             ///< task a1: its worker is gone; it runs again
        buried,              ///< task a1: dead: REASON
        lock_released,       ///< task a1: lock released
        trouble,             ///< REASON: the database or the lock engine failed; it goes on
    };
    kind what = kind::received;
    std::string id = {};
    std::string reason = {};
};

[[nodiscard]] std::string to_string(const task_event& event);

struct task_runner_options {
    std::vector<std::string> queues = {"default"};  ///< The first is served before the others.
    /// So many handlers run at the same time here. At most 256; 0: only those of process().
    std::uint32_t concurrency = 1;
    /// How long the tasks of a dead worker wait before another takes them. Renewed at a third of
    /// it; 30 s survives a failover of the database. At least 100 ms.
    duration lease = std::chrono::seconds(30);
    /// The longest that one attempt may run; then its stop token fires, and it has failed.
    duration max_hold = std::chrono::hours(1);
    /// How often to look for tasks where nothing tells: on MySQL, and while a queue is paused or
    /// full. Elsewhere a submission wakes the runners of all processes at once (by NOTIFY on
    /// PostgreSQL, by the kernel's watch on a SQLite file), and they look once a second besides.
    duration poll = std::chrono::milliseconds(50);
    /// Where locks are taken before the row is claimed; null: the row's own lease is enough. It
    /// must outlive the runner.
    client* locks = nullptr;
    std::string lock_prefix = "task:";
    /// Called on threads of the runner, several at a time: must be thread-safe and short.
    std::function<void(const task_event&)> observer = {};
    /// The same, with what came of each task that was received.
    std::function<void(const task_outcome&)> on_outcome = {};
};

/// Since the runner was made.
struct task_runner_statistics {
    std::uint64_t claimed = 0;
    std::uint64_t finished = 0;
    std::uint64_t failed = 0;
    std::uint64_t lost = 0;
    std::uint64_t rescued = 0;  ///< Tasks of dead workers that this one made pending again.
    std::uint64_t buried = 0;   ///< Tasks that it found dead.
    std::uint64_t ticks = 0;    ///< Of recurring tasks that it submitted.
    std::uint32_t running = 0;  ///< Now.
};

/// Thread safety: all members may be called from any thread.
class task_runner {
public:
    /// Does no I/O. Requires: the options are within their bounds, the handler is not empty.
    task_runner(const task_store& tasks, task_handler handler, task_runner_options options = {});
    /// As stop().
    ~task_runner();
    task_runner(const task_runner&) = delete;
    task_runner& operator=(const task_runner&) = delete;

    /// Starts its threads: `concurrency` that run handlers, one that renews leases, rescues the
    /// tasks of dead workers and submits recurring tasks, and one that fires stop tokens in time.
    void start();

    /// Claims nothing more. Blocks: until what runs has ended, at most that long; returns whether
    /// it has.
    bool drain(duration at_most = duration::max());

    /// Claims nothing more, fires the stop tokens of what runs, and gives those tasks back: they
    /// are pending again at once, and no failure is counted. Blocks: until the handlers return.
    void stop();

    /// Processes one task by its id on the calling thread, as a worker does to which a queue of
    /// its own has delivered the id. Needs start() for its lease to be renewed.
    [[nodiscard]] task_outcome process(std::string_view id);

    [[nodiscard]] task_runner_statistics statistics() const;

private:
    std::shared_ptr<detail::runner_core> core_;
};

}  // namespace holdfast

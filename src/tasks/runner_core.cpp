// SPDX-License-Identifier: Apache-2.0
#include "tasks/runner_core.hpp"

#include "core/require.hpp"
#include "tasks/task_checks.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>

namespace holdfast::detail {
namespace {

constexpr int candidates = 8;
constexpr duration trouble_pause = std::chrono::seconds(1);
constexpr duration idle_look = std::chrono::seconds(1);

// For people: which process has a task.
std::string describe_owner(entropy& chance) {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
    return fmt::format("{}:{}:{:06x}", host.data(), ::getpid(), chance.below(1U << 24));
}

}  // namespace

runner_core::runner_core(std::shared_ptr<task_table> table, task_handler handler,
                         task_runner_options options)
    : table_(std::move(table)),
      handler_(std::move(handler)),
      options_(std::move(options)),
      owner_(describe_owner(table_->chance())),
      clock_(table_->time()) {
    require(handler_ != nullptr, "the handler is not empty");
    require(options_.concurrency <= 256, "concurrency is 0 to 256");
    require(options_.lease >= std::chrono::milliseconds(100), "lease >= 100ms");
    require(!options_.queues.empty(), "there is a queue");
    waker_ = table_->add_waker([this] { wake(); });
}

runner_core::~runner_core() {
    table_->drop_waker(waker_);
    stop();
}

void runner_core::tell(task_event::kind what, std::string_view id, std::string_view reason) const {
    if (options_.observer) options_.observer({what, std::string(id), std::string(reason)});
}

void runner_core::wake() {
    {
        const std::scoped_lock guard(mutex_);
        ++submissions_;
    }
    work_changed_.notify_all();
}

void runner_core::start() {
    const std::scoped_lock guard(mutex_);
    if (upkeep_.joinable() || stopping_) return;
    upkeep_ = std::thread([this] { keep_up(); });
    deadlines_ = std::thread([this] { watch_deadlines(); });
    for (std::uint32_t i = 0; i < options_.concurrency; ++i) {
        threads_.emplace_back([this] { work(); });
    }
}

bool runner_core::drain(duration at_most) {
    const time_point now = clock_.now();
    const time_point give_up =
        at_most > time_point::max() - now ? time_point::max() : now + at_most;
    std::unique_lock guard(mutex_);
    draining_ = true;
    work_changed_.notify_all();
    while (busy_ > 0 && clock_.now() < give_up) clock_.wait_until(guard, work_changed_, give_up);
    return busy_ == 0;
}

void runner_core::stop() {
    std::vector<std::thread> threads;
    {
        const std::scoped_lock guard(mutex_);
        draining_ = stopping_ = true;
        threads.swap(threads_);
    }
    // One that enters from now on sees it for itself.
    for (const auto& one : attempts()) one->ask_to_stop(stop_cause::worker_stops);
    work_changed_.notify_all();
    for (std::thread& one : threads) one.join();
    {
        // What process() runs on other threads needs the upkeep until it is over.
        std::unique_lock guard(mutex_);
        while (busy_ > 0) work_changed_.wait(guard);
        ended_ = true;
    }
    upkeep_changed_.notify_all();
    if (upkeep_.joinable()) upkeep_.join();
    if (deadlines_.joinable()) deadlines_.join();
}

task_runner_statistics runner_core::statistics() const {
    const std::scoped_lock guard(mutex_);
    task_runner_statistics out = counted_;
    out.running = static_cast<std::uint32_t>(active_.size());
    return out;
}

void runner_core::work() {
    while (true) {
        std::uint64_t seen = 0;
        {
            const std::scoped_lock guard(mutex_);
            if (draining_) return;
            seen = submissions_;
        }
        const found what = work_once();
        if (what == found::work) continue;
        // What is down is not asked again at once.
        const duration pause =
            what == found::trouble ? std::max(options_.poll, trouble_pause) : idle_pause();
        std::unique_lock guard(mutex_);
        const time_point look_again = clock_.now() + pause;
        while (!draining_ && submissions_ == seen && clock_.now() < look_again) {
            clock_.wait_until(guard, work_changed_, look_again);
        }
    }
}

// One that hears of submissions looks when the next task is due, and now and then.
duration runner_core::idle_pause() {
    if (!table_->hears_others()) return options_.poll;
    duration pause = std::max(options_.poll, idle_look);
    for (const std::string& queue : options_.queues) {
        const auto due = table_->next_due(queue);
        if (!due) return options_.poll;
        if (*due) pause = std::min(pause, **due);
    }
    // One that is due and was not claimed waits for its queue: nobody tells when that changes.
    return pause > duration::zero() ? pause : options_.poll;
}

runner_core::found runner_core::work_once() {
    for (const std::string& queue : options_.queues) {
        const found what = work_on(queue);
        if (what != found::nothing) return what;
    }
    return found::nothing;
}

runner_core::found runner_core::work_on(const std::string& queue) {
    const auto ids = table_->peek(queue, candidates);
    if (!ids) {
        tell(task_event::kind::trouble, "", to_string(ids.error()));
        return found::trouble;
    }
    for (const std::string& id : *ids) {
        claim_outcome how = claim_outcome::refused;
        static_cast<void>(process_one(id, how));
        if (how == claim_outcome::claimed) return found::work;
        if (how == claim_outcome::failed) return found::trouble;
        const std::scoped_lock guard(mutex_);
        if (draining_) return found::work;
    }
    return found::nothing;
}

void runner_core::enter(active_task& task) {
    bool stops = false;
    {
        const std::scoped_lock guard(mutex_);
        active_.push_back(&task);
        ++counted_.claimed;
        stops = stopping_;
    }
    upkeep_changed_.notify_all();
    if (stops) task.attempt->ask_to_stop(stop_cause::worker_stops);
}

void runner_core::leave(active_task& task) {
    const std::scoped_lock guard(mutex_);
    active_.remove(&task);
}

std::optional<task_outcome> runner_core::take_lock(std::string_view id, std::optional<lease>& out) {
    if (options_.locks == nullptr) return std::nullopt;
    auto held = options_.locks->mutex(options_.lock_prefix + std::string(id))
                    .try_acquire({.ttl = options_.lease, .max_hold = options_.max_hold});
    if (held) {
        out.emplace(std::move(*held));
        return std::nullopt;
    }
    if (held.error() == errc::busy) {
        tell(task_event::kind::already_processing, id);
        return task_outcome{task_outcome::status::skipped, "already_processing", std::string(id)};
    }
    tell(task_event::kind::trouble, id, to_string(held.error()));
    return task_outcome{task_outcome::status::error, held.error().detail, std::string(id)};
}

// Its row may be running for another worker: then that is the reason, as if it had the lock.
task_outcome runner_core::not_claimed(std::string_view id) {
    const auto row = table_->find(id);
    const bool runs =
        row && *row &&
        ((*row)->state == task_state::running || (*row)->state == task_state::publishing);
    tell(runs ? task_event::kind::already_processing : task_event::kind::invalid_state, id);
    return {task_outcome::status::skipped, runs ? "already_processing" : "invalid_state",
            std::string(id)};
}

task_outcome runner_core::process(std::string_view id) {
    claim_outcome how = claim_outcome::refused;
    return process_one(id, how);
}

task_outcome runner_core::process_one(std::string_view id, claim_outcome& how) {
    if (auto fit = check_task_id(id); !fit) {
        return {task_outcome::status::error, fit.error().detail, std::string(id)};
    }
    {
        const std::scoped_lock guard(mutex_);
        if (stopping_) return {task_outcome::status::error, "the worker stops", std::string(id)};
        ++busy_;
    }
    tell(task_event::kind::received, id);
    task_outcome out;
    active_task task;
    task.time = &clock_;
    if (auto refused = take_lock(id, task.lock)) {
        out = std::move(*refused);
        if (out.what == task_outcome::status::error) how = claim_outcome::failed;
    } else {
        auto claimed =
            task_attempt::claim(*table_, id, {options_.lease, options_.max_hold, owner_});
        if (!claimed) {
            tell(task_event::kind::trouble, id, to_string(claimed.error()));
            out = {task_outcome::status::error, claimed.error().detail, std::string(id)};
            how = claim_outcome::failed;
        } else if (*claimed == nullptr) {
            out = not_claimed(id);
        } else {
            task.attempt = std::move(*claimed);
            how = claim_outcome::claimed;
            out = run_claimed(task);
        }
        release_lock(task);
    }
    {
        const std::scoped_lock guard(mutex_);
        --busy_;
    }
    work_changed_.notify_all();
    if (options_.on_outcome) options_.on_outcome(out);
    return out;
}

task_outcome runner_core::run_claimed(active_task& task) {
    enter(task);
    handler_end how;
    {
        // A lock that is lost means that another may run: as if the row had been taken.
        const std::stop_token lost = task.lock ? task.lock->lost() : std::stop_token();
        const std::stop_callback heard(lost, [&] { task.attempt->ask_to_stop(stop_cause::lost); });
        how = call_handler(task);
    }
    task.attempt->end(std::move(how));
    settle(*task.attempt);
    leave(task);
    return report_end(*task.attempt);
}

handler_end runner_core::call_handler(active_task& task) {
    task_context context(task);
    try {
        auto done = handler_(context);
        if (!done) return {.why = std::move(done.error())};
        return {.said = std::move(*done)};
    } catch (const std::exception& thrown) {
        return {.why = error{errc::unavailable, fmt::format("exception: {}", thrown.what())}};
    } catch (...) {
        return {.why = error{errc::unavailable, "an exception that has no text"}};
    }
}

void runner_core::settle(task_attempt& attempt) {
    std::mutex alone;
    std::condition_variable never;
    while (const auto next = attempt.settle(clock_.now())) {
        std::unique_lock guard(alone);
        while (clock_.now() < *next) clock_.wait_until(guard, never, *next);
    }
}

task_outcome runner_core::report_end(const task_attempt& attempt) {
    using enum attempt_end::kind;
    const attempt_end& end = attempt.ended();
    const std::string& id = attempt.row().id;
    {
        const std::scoped_lock guard(mutex_);
        if (end.what == finished) ++counted_.finished;
        if (end.what == failed) ++counted_.failed;
        if (end.what == lost) ++counted_.lost;
        if (end.what == failed && end.state == task_state::dead) ++counted_.buried;
    }
    switch (end.what) {
        case finished:
            tell(task_event::kind::finished, id);
            return {task_outcome::status::success, {}, id};
        case failed:
            tell(task_event::kind::failed, id, end.reason);
            if (end.state == task_state::dead) tell(task_event::kind::buried, id, end.reason);
            return {task_outcome::status::error, end.reason, id};
        case given_back:
            tell(task_event::kind::given_back, id);
            return {task_outcome::status::error, "the worker stops", id};
        case lost: break;
    }
    tell(task_event::kind::lost, id, end.reason);
    return {task_outcome::status::error, end.reason, id};
}

void runner_core::release_lock(active_task& task) {
    if (!task.lock) return;
    const std::string id = task.lock->name().value().substr(options_.lock_prefix.size());
    const auto released = std::move(*task.lock).release();
    task.lock.reset();
    if (released) {
        tell(task_event::kind::lock_released, id);
    } else {
        tell(task_event::kind::trouble, id, "lock not released: " + released.error().detail);
    }
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include <holdfast/tasks/task_runner.hpp>

#include "tasks/runner_core.hpp"

#include <algorithm>
#include <utility>

namespace holdfast {

const task_info& task_context::task() const noexcept {
    return of_->attempt->row();
}

fencing_token task_context::fence() const noexcept {
    return of_->attempt->row().fence;
}

std::stop_token task_context::stop() const noexcept {
    return of_->attempt->stop();
}

void task_context::progress(double fraction, std::string_view note) {
    of_->attempt->note_progress(fraction, note);
}

duration task_context::remaining() const noexcept {
    return std::max(duration::zero(), of_->attempt->hold_until() - of_->time->now());
}

duration task_context::lease_left() const noexcept {
    return std::max(duration::zero(), of_->attempt->valid_until() - of_->time->now());
}

result<std::string> task_context::output(std::string_view final_place) {
    return of_->attempt->output(final_place);
}

task_runner::task_runner(const task_store& tasks, task_handler handler, task_runner_options options)
    : core_(std::make_shared<detail::runner_core>(tasks.table(), std::move(handler),
                                                  std::move(options))) {}

task_runner::~task_runner() = default;

void task_runner::start() {
    core_->start();
}

bool task_runner::drain(duration at_most) {
    return core_->drain(at_most);
}

void task_runner::stop() {
    core_->stop();
}

task_outcome task_runner::process(std::string_view id) {
    return core_->process(id);
}

task_runner_statistics task_runner::statistics() const {
    return core_->statistics();
}

}  // namespace holdfast

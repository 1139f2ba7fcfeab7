// SPDX-License-Identifier: Apache-2.0
#include "lock/async_operations.hpp"

#include "lock/lock_runtime.hpp"

#include <string>
#include <utility>

namespace holdfast::detail {
namespace {

// What a completion throws ends here: it must not end the process from a thread of ours.
template <class Completion, class Outcome>
void tell(Completion done, Outcome outcome) {
    try {
        done(std::move(outcome));
    } catch (...) {
    }
}

// The caller's text is gone when the operation is not.
acquire_options owning(acquire_options options, const std::string& note) {
    if (options.note.data() != nullptr) options.note = note;
    return options;
}

}  // namespace

acquire_operation::acquire_operation(std::shared_ptr<lock_runtime> runtime, lock_name name,
                                     acquire_options options, const lease_mode& mode,
                                     mutex::acquire_completion done,
                                     std::shared_ptr<async_driver::inbox> rings)
    : runtime_(std::move(runtime)),
      name_(std::move(name)),
      note_(options.note),
      options_(owning(std::move(options), note_)),
      done_(std::move(done)),
      rings_(std::move(rings)) {
    mine_.emplace(*runtime_, name_, options_, mode, rings_.get());
}

operation::action acquire_operation::start() {
    return follow(mine_->start());
}

operation::action acquire_operation::on_reply(result<lease_reply> reply) {
    return follow(mine_->on_reply(std::move(reply)));
}

operation::action acquire_operation::on_wake() {
    if (auto event = mine_->waits().happened()) return follow(mine_->on_event(*event));
    if (runtime_->time().now() < sleeps_until_) return sleep{sleeps_until_};
    return follow(mine_->on_event(waiter::time_is_up{}));
}

// What happened while it did not sleep is told before it does.
operation::action acquire_operation::follow(acquisition::action next) {
    for (;;) {
        if (auto* got = std::get_if<result<lease>>(&next)) {
            outcome_.emplace(std::move(*got));
            return finished{};
        }
        if (auto* out = std::get_if<acquisition::send>(&next)) {
            return send{std::move(out->request), out->give_up};
        }
        sleeps_until_ = std::get<acquisition::sleep>(next).until;
        const auto event = mine_->waits().happened();
        if (!event) return sleep{sleeps_until_};
        next = mine_->on_event(*event);
    }
}

void acquire_operation::abort() {
    outcome_.emplace(mine_->abort());
}

// The acquisition ends before the user is told: nothing of ours watches the stop token any more.
void acquire_operation::complete() {
    mine_.reset();
    tell(std::move(done_), std::move(*outcome_));
}

release_operation::release_operation(std::shared_ptr<lock_runtime> runtime,
                                     std::shared_ptr<lease_state> state, release_machine machine,
                                     lease::release_completion done)
    : runtime_(std::move(runtime)),
      state_(std::move(state)),
      machine_(std::move(machine)),
      done_(std::move(done)) {}

operation::action release_operation::start() {
    return follow(machine_.start());
}

operation::action release_operation::on_reply(result<lease_reply> reply) {
    return follow(machine_.on_reply(reply, runtime_->time().now()));
}

operation::action release_operation::on_wake() {
    return sleep{time_point::max()};  // it never sleeps
}

operation::action release_operation::follow(release_machine::action next) {
    if (const auto* out = std::get_if<release_machine::send>(&next)) {
        return send{*out->request, out->give_up};
    }
    auto& end = std::get<release_machine::finish>(next);
    outcome_.emplace(runtime_->end_release(*state_, std::move(end)));
    return finished{};
}

void release_operation::abort() {
    const error why{errc::unavailable, "the client was closed meanwhile"};
    static_cast<void>(follow(machine_.on_reply(std::unexpected(why), time_point::max())));
}

void release_operation::complete() {
    tell(std::move(done_), std::move(*outcome_));
}

}  // namespace holdfast::detail

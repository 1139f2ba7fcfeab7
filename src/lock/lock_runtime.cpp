// SPDX-License-Identifier: Apache-2.0
#include "lock/lock_runtime.hpp"

#include "core/validity.hpp"
#include "lock/acquisition.hpp"
#include "lock/async_operations.hpp"
#include "runtime/fork_watch.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <stop_token>
#include <utility>

namespace holdfast::detail {
namespace {

client_label this_program() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host = {"?"};
    return {.host = host.data(), .pid = ::getpid(), .program = ::program_invocation_short_name};
}

std::string why_lost(const lease_state& over) {
    const loss_reason why = over.reason.load();
    const std::string_view word = to_string(why);
    return why == loss_reason::evicted ? fmt::format("{}, {}", word, over.loss_text)
                                       : std::string(word);
}

/// What the user chose for this holding. One that is not renewed and runs for less than its ttl,
/// because it was handed off or passed on, is made to run for the whole ttl at `now`, once.
void choose(lease_state& state, const acquire_options& options, time_point now) {
    state.drift = options.drift;
    state.listener = options.listener;
    if (options.note.data() != nullptr) state.note = holder_note(options.note);
    state.renews = options.renewal == renewals::automatic;
    state.whole = now == time_point::max();
    if (!state.renews && !state.whole) state.renew_at = now;
}

/// Opens the local line when a lease that occupied it is given back, whatever came of that.
struct turn_end {
    local_queues& queues;
    const lease_state& over;
    ~turn_end() {
        if (over.occupies_queue) queues.end_turn(over);
    }
};

}  // namespace

lock_runtime::lock_runtime(std::shared_ptr<lease_store> store, const client_options& options,
                           upkeep by)
    : store_(std::move(store)),
      options_(options),
      clock_(*options.time),
      id_(client_id::draw(*options.chance)),
      report_(std::make_shared<reporter>(options.observer, options.observer_queue, count_, by)),
      keeper_(std::make_unique<keeper>(store_, clock_, options, report_, by)),
      async_driver_(std::make_unique<async_driver>(store_, clock_, by)),
      generation_(fork_generation()) {
    store_->introduce(id_, this_program());
    store_->on_push([room = room_, lose = keeper_->on_eviction()](const lease_push& push) {
        if (const auto* told = std::get_if<evicted>(&push)) return lose(*told);
        room->hear(push);
    });
}

// In a child of fork() there are no threads to join, and locks may be held by threads that do not
// exist: everything is left where it is.
lock_runtime::~lock_runtime() {
    if (fork_generation() != generation_) {
        static_cast<void>(keeper_.release());
        static_cast<void>(async_driver_.release());
        // NOLINTBEGIN(bugprone-unhandled-exception-at-new): no memory for that ends the child
        static_cast<void>(new std::shared_ptr<reporter>(std::move(report_)));
        static_cast<void>(new std::shared_ptr<lease_store>(std::move(store_)));
        // NOLINTEND(bugprone-unhandled-exception-at-new)
        return;
    }
    static_cast<void>(close());
}

time_point lock_runtime::step() {
    const time_point next_call = async_driver_->step();
    const time_point next_lease = keeper_->step();
    report_->step();
    return std::min(next_call, next_lease);
}

error lock_runtime::closed_error() {
    return {errc::invalid_argument, "the client is closed: open another one"};
}

result<lease> lock_runtime::acquire(const lock_name& name, const acquire_options& options,
                                    const lease_mode& mode) {
    const open_calls::guard under_way(calls_);
    acquisition mine(*this, name, options, mode);
    auto next = mine.start();
    for (;;) {
        if (auto* got = std::get_if<result<lease>>(&next)) return std::move(*got);
        if (const auto* out = std::get_if<acquisition::send>(&next)) {
            result<lease_reply> reply;
            store_->exchange({&out->request, 1}, {&reply, 1}, out->give_up);
            next = mine.on_reply(std::move(reply));
        } else {
            next = mine.on_event(sleep(mine.waits(), std::get<acquisition::sleep>(next).until));
        }
    }
}

// A thread that is the only one to wait hears the engine's pushes itself, where that is offered.
waiter::event lock_runtime::sleep(waiter& me, time_point until) {
    thread_local std::optional<event> signal;
    const bool heard = store_->hear_pushes({.until = until,
                                            .wake_fd =
                                                [&] {
                                                    if (!signal) signal.emplace();
                                                    signal->clear();
                                                    me.poll_with(&*signal);
                                                    return signal->fd();
                                                },
                                            .over = [&] { return me.has_news(); },
                                            .alone = [&] { return room_->size() <= 1; }});
    if (heard) me.poll_with(nullptr);
    return me.sleep(until);
}

void lock_runtime::acquire_async(const lock_name& name, const acquire_options& options,
                                 const lease_mode& mode, mutex::acquire_completion done) {
    if (const auto fit = ready(options, mode); !fit) return done(std::unexpected(fit.error()));
    // A release is never refused: it makes room.
    if (async_driver_->full()) {
        return done(
            fail(errc::busy, fmt::format("{} asynchronous acquires of this client are under "
                                         "way already: let some end first",
                                         async_driver::most)));
    }
    auto inbox = async_driver_->new_inbox();
    auto task = std::make_unique<acquire_operation>(shared_from_this(), name, options, mode,
                                                    std::move(done), inbox);
    async_driver_->take(inbox, std::move(task));
}

result<lease> lock_runtime::hand_out(const acquire_plan& plan, const grant& given,
                                     const acquire_options& options, time_point asked) {
    auto state =
        std::make_shared<lease_state>(plan.name, plan.owner, plan.mode, plan.ttl, given.fence);
    const time_point now = clock_.now();
    state->fork_generation = generation_;
    state->passes_left = options.local_passes;
    state->since = now;
    state->hold_end = later(now, options.max_hold);
    state->deadline = std::min(given.valid_until, state->hold_end);
    state->renew_at = given.renew_at;
    state->doubts = given.doubts;
    state->doubt_until = given.doubt_until;
    choose(*state, options, given.handed_off ? now : time_point::max());
    // No request that was answered has brought these words.
    if ((given.adopted || given.handed_off) && state->note.is_set()) state->renew_at = now;
    if (!keeper_->keep(state)) {
        leave_in_background(plan);
        return std::unexpected(closed_error());
    }
    const grant_path waited = given.handed_off ? grant_path::handed_off : grant_path::polled;
    const grant_path alone = given.adopted ? grant_path::adopted : grant_path::at_once;
    report_->acquired(*state, now - asked, given.waited ? waited : alone);
    return lease(shared_from_this(), std::move(state));
}

result<lease> lock_runtime::take_over(const std::shared_ptr<lease_state>& state,
                                      const acquire_options& options, time_point asked) {
    const time_point now = clock_.now();
    state->since = now;
    state->hold_end = later(now, options.max_hold);
    state->deadline = std::min(state->deadline.load(), state->hold_end);
    if (options.renewal == renewals::off) state->ttl = options.ttl;
    // The engine does not know of this holder: its words go with a renewal, or take back those of
    // the one before.
    if (state->note.is_set() || options.note.data() != nullptr) {
        state->note = holder_note("");
        state->renew_at = now;
    }
    choose(*state, options, now);
    if (!keeper_->keep(state)) {
        leave(leave_of(*state), later(now, state->ttl));
        return std::unexpected(closed_error());
    }
    report_->acquired(*state, now - asked, grant_path::passed_on);
    return lease(shared_from_this(), state);
}

bool lock_runtime::occupy_queue(const lease& got, const acquire_options& options) {
    if (options.local_passes == 0) return false;
    got.state_->occupies_queue = true;
    queues_.occupy(got.name(), got.state_);
    return true;
}

// Passes a lease to the next waiter of this client, if it may be and has enough life left.
bool lock_runtime::pass_on(const lease_state& old) {
    if (!old.occupies_queue || old.passes_left == 0) return false;
    if (remaining_until(old.deadline.load()) < old.ttl.load() / 2) return false;
    auto next = std::make_shared<lease_state>(old.name, old.owner, old.mode, old.ttl,
                                              fencing_token{old.fence.value + 1});
    next->fork_generation = generation_;
    next->passes_left = old.passes_left - 1;
    next->occupies_queue = true;
    next->deadline = old.deadline.load();
    next->renew_at = old.renew_at;
    next->note = old.note;
    next->doubts = old.doubts;
    next->doubt_until = old.doubt_until;
    return queues_.pass_on(old, std::move(next));
}

duration lock_runtime::remaining_until(time_point deadline) const noexcept {
    return std::max(deadline - clock_.now(), duration::zero());
}

std::variant<result<void>, release_machine> lock_runtime::begin_release(lease_state& state) {
    using said = result<void>;
    if (fork_generation() != state.fork_generation) {
        return said(fail(errc::lease_lost, "the lease belongs to the parent process"));
    }
    const time_point now = clock_.now();
    const bool in_time = state.ours() && now < state.deadline.load();
    const bool mine = state.end(lease_status::released, loss_reason::none);
    keeper_->forget(state);
    if (!mine) {
        const turn_end opening{queues_, state};
        release_lost(state);
        return said(fail(errc::lease_lost, fmt::format("'{}' was lost before: {}",
                                                       state.name.value(), why_lost(state))));
    }
    if (in_time && pass_on(state)) {
        report_->released(state, clock_);
        return said();
    }
    return std::variant<said, release_machine>(
        std::in_place_type<release_machine>,
        release_plan{.request = {state.name, state.owner, state.mode, {}, state.note.is_set()},
                     .in_time = in_time,
                     .give_up = later(now, options_.request_timeout)});
}

result<void> lock_runtime::end_release(lease_state& state, release_machine::finish end) {
    const turn_end opening{queues_, state};
    if (end.outcome) {
        report_->released(state, clock_);
    } else if (end.outcome.error() == errc::lease_lost) {
        const bool late = clock_.now() >= state.deadline.load();
        const loss_reason unsaid = late ? state.reason_of_time() : loss_reason::missing;
        report_->lost_at_release(state, end.evicted.empty() ? unsaid : loss_reason::evicted,
                                 end.evicted);
    }
    const time_point now = clock_.now();
    if (end.leftover) {
        leave(leave_of(state), std::max(later(now, state.ttl), state.doubt_until),
              state.finds(now));
    } else if (now < state.doubt_until) {
        keeper_->doubt_in_background(leave_of(state), state.doubt_until, state.doubts);
    }
    return std::move(end.outcome);
}

result<void> lock_runtime::release(lease_state& state) {
    const open_calls::guard under_way(calls_);
    auto begun = begin_release(state);
    if (auto* said = std::get_if<result<void>>(&begun)) return std::move(*said);
    auto& machine = std::get<release_machine>(begun);
    auto next = machine.start();
    while (const auto* out = std::get_if<release_machine::send>(&next)) {
        result<lease_reply> reply;
        store_->exchange({out->request, 1}, {&reply, 1}, out->give_up);
        next = machine.on_reply(reply, clock_.now());
    }
    return end_release(state, std::move(std::get<release_machine::finish>(next)));
}

void lock_runtime::release_async(std::shared_ptr<lease_state> state,
                                 lease::release_completion done) {
    auto begun = begin_release(*state);
    if (auto* said = std::get_if<result<void>>(&begun)) return done(std::move(*said));
    async_driver_->take(async_driver_->new_inbox(),
                        std::make_unique<release_operation>(
                            shared_from_this(), std::move(state),
                            std::move(std::get<release_machine>(begun)), std::move(done)));
}

void lock_runtime::abandon(lease_state& state) noexcept {
    if (fork_generation() != state.fork_generation) return;
    const bool mine = state.end(lease_status::released, loss_reason::none);
    keeper_->forget(state);
    if (mine && pass_on(state)) {
        report_->released(state, clock_);
        return;
    }
    const turn_end opening{queues_, state};
    if (!mine) return release_lost(state);
    report_->released(state, clock_);
    static_cast<void>(keeper_->give_back(state, later(clock_.now(), state.ttl)));
}

bool lock_runtime::held(const lease_state& state) const noexcept {
    return remaining(state) > duration::zero();
}

duration lock_runtime::remaining(const lease_state& state) const noexcept {
    const bool forked = fork_generation() != state.fork_generation;
    if (!state.ours() || forked) return duration::zero();
    return remaining_until(state.deadline.load());
}

result<void> lock_runtime::resize(const lock_name& name, std::uint32_t permits) {
    if (closed_) return std::unexpected(closed_error());
    return store_->resize(name, permits, later(clock_.now(), options_.request_timeout));
}

result<std::vector<lease_info>> lock_runtime::list(std::string_view prefix) {
    if (closed_) return std::unexpected(closed_error());
    auto found = store_->list(prefix, later(clock_.now(), options_.request_timeout));
    if (found) std::ranges::for_each(*found, [this](lease_info& one) { claim(one); });
    return found;
}

result<std::optional<lease_info>> lock_runtime::inspect(const lock_name& name) {
    if (closed_) return std::unexpected(closed_error());
    auto found = store_->inspect(name, later(clock_.now(), options_.request_timeout));
    if (found && *found) claim(**found);
    return found;
}

// Says which of them are this client's.
void lock_runtime::claim(lease_info& seen) const {
    for (holder_info& one : seen.holders) one.mine = one.client == id_.value();
    for (waiter_info& one : seen.queue) one.mine = one.client == id_.value();
}

result<std::uint32_t> lock_runtime::evict(const lock_name& name, std::string_view reason) {
    if (closed_) return std::unexpected(closed_error());
    if (const auto fit = fit_reason(reason); !fit) return std::unexpected(fit.error());
    return store_->evict(name, reason, later(clock_.now(), options_.request_timeout));
}

result<std::vector<eviction_info>> lock_runtime::evictions(const lock_name& name) {
    if (closed_) return std::unexpected(closed_error());
    return store_->evictions(name, later(clock_.now(), options_.request_timeout));
}

// The engine's answer is as old as half the trip, as far as can be told.
result<clock_comparison> lock_runtime::compare_clocks() {
    if (closed_) return std::unexpected(closed_error());
    const time_point asked = clock_.now();
    const auto theirs = store_->time_of_day(later(asked, options_.request_timeout));
    const wall_time ours = clock_.wall();
    const duration trip = clock_.now() - asked;
    if (!theirs) return std::unexpected(theirs.error());
    return clock_comparison{.offset = *theirs - ours + trip / 2, .round_trip = trip};
}

client_statistics lock_runtime::statistics() const {
    const loss_counts lost{.expired = count_->lost_expired,
                           .missing = count_->lost_missing,
                           .evicted = count_->lost_evicted,
                           .max_hold = count_->lost_max_hold,
                           .closed = count_->lost_closed};
    const waiting_counts waiting{.exclusive = count_->waiting[0],
                                 .shared = count_->waiting[1],
                                 .permit = count_->waiting[2]};
    return {.acquired = count_->acquired,
            .waited = count_->waited,
            .handed_off = count_->handed_off,
            .passed_on = count_->passed_on,
            .refused = count_->refused,
            .failed = count_->failed,
            .released = count_->released,
            .renewed = count_->renewed,
            .renewal_failures = count_->renewal_failures,
            .clock_steps = count_->clock_steps,
            .lost = lost.expired + lost.missing + lost.evicted + lost.max_hold + lost.closed,
            .held = keeper_->size(),
            .waiting = waiting.exclusive + waiting.shared + waiting.permit,
            .least_slack = count_->least_slack,
            .lost_by_reason = lost,
            .waiting_by_mode = waiting,
            .waiting_time = count_->waiting_time.read(),
            .renewal_slack = count_->renewal_slack.read(),
            .observations_dropped = count_->observations_dropped,
            .left_to_ttl = count_->left_to_ttl};
}

}  // namespace holdfast::detail

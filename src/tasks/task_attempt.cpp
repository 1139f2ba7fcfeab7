// SPDX-License-Identifier: Apache-2.0
#include "tasks/task_attempt.hpp"

#include "tasks/output_place.hpp"
#include "tasks/task_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace holdfast::detail {
namespace {

// After an error of the database. The lease bounds how long it goes on.
duration settle_pause(duration lease) {
    return std::clamp<duration>(lease / 20, std::chrono::milliseconds(10), std::chrono::seconds(1));
}

std::string_view cause_text(stop_cause why) {
    switch (why) {
        case stop_cause::none: return "";
        case stop_cause::lost: return "its lease ended";
        case stop_cause::cancelled: return "it was cancelled";
        case stop_cause::too_long: return "it ran for longer than max_hold";
        case stop_cause::worker_stops: return "the worker stops";
    }
    return "";
}

}  // namespace

result<std::unique_ptr<task_attempt>> task_attempt::claim(task_table& table, std::string_view id,
                                                          const attempt_settings& how) {
    const time_point sent = table.time().now();
    auto row = table.claim(id, how.owner, how.lease);
    if (!row) return std::unexpected(std::move(row.error()));
    if (!*row) return nullptr;
    return std::make_unique<task_attempt>(table, std::move(**row), how, sent);
}

task_attempt::task_attempt(task_table& table, task_info row, const attempt_settings& how,
                           time_point sent)
    : table_(table),
      row_(std::move(row)),
      how_(how),
      valid_until_(expiry(sent)),
      hold_until_(sent + how.max_hold),
      renew_at_(sent + how.lease / 3) {}

time_point task_attempt::expiry(time_point sent) const {
    return sent + how_.lease - how_.lease / 100 - std::chrono::milliseconds(2);
}

task_table::report task_attempt::report() const {
    return {row_.id, static_cast<std::int64_t>(row_.fence.value)};
}

bool task_attempt::valid(time_point now) const {
    return now < valid_until();
}

time_point task_attempt::valid_until() const {
    const std::scoped_lock guard(mutex_);
    return cause_ == stop_cause::lost ? time_point::min() : valid_until_;
}

void task_attempt::note_progress(double fraction, std::string_view note) {
    const std::scoped_lock guard(progress_mutex_);
    progress_ = std::clamp(fraction, 0.0, 1.0);
    note_ = stored_text(note, 200);
}

result<std::string> task_attempt::output(std::string_view place) {
    const std::scoped_lock guard(mutex_);
    if (!staged_.empty()) return staged_;
    auto made = stage_output(place, row_.id, row_.fence);
    if (!made) return made;
    staged_ = *made;
    place_ = std::filesystem::absolute(std::filesystem::path(place)).lexically_normal();
    return made;
}

void task_attempt::ask_to_stop(stop_cause why) {
    {
        const std::scoped_lock guard(mutex_);
        if (cause_ != stop_cause::none || stage_ != stage::running) return;
        cause_ = why;
    }
    stop_.request_stop();
}

// Requires: the mutex is held. Whoever asked first stays the reason, but a loss tops them all.
void task_attempt::stop_for(stop_cause why) {
    if (cause_ == stop_cause::none || why == stop_cause::lost) cause_ = why;
}

// Without the mutex: a database that does not answer must not keep the deadline from being seen.
result<renewal> task_attempt::ask_to_renew() {
    double progress = 0;
    std::string note;
    {
        const std::scoped_lock guard(progress_mutex_);
        progress = progress_;
        note = note_;
    }
    return table_.renew(report(), how_.lease, progress, note);
}

// Requires: the mutex is held.
void task_attempt::take_renewal(const result<renewal>& found, time_point sent) {
    if (!found) {  // tried again until the lease is over
        renew_at_ = sent + settle_pause(how_.lease);
    } else if (*found == renewal::refused) {
        stop_for(stop_cause::lost);
    } else {
        renew_at_ = sent + how_.lease / 3;
        valid_until_ = expiry(sent);
        if (*found == renewal::cancel) stop_for(stop_cause::cancelled);
    }
}

time_point task_attempt::expire(time_point now) {
    bool fire = false;
    time_point next = time_point::max();
    {
        const std::unique_lock guard(mutex_, std::try_to_lock);
        if (!guard) return now + settle_pause(how_.lease);  // it is being settled, most likely
        if (stage_ != stage::running || cause_ == stop_cause::lost) return next;
        if (now >= valid_until_) stop_for(stop_cause::lost);
        if (now >= hold_until_) stop_for(stop_cause::too_long);
        fire = cause_ != stop_cause::none;
        if (cause_ != stop_cause::lost) next = valid_until_;
        if (cause_ == stop_cause::none) next = std::min(next, hold_until_);
    }
    if (fire) stop_.request_stop();
    return next;
}

time_point task_attempt::keep(time_point now) {
    const time_point deadline = expire(now);
    {
        const std::unique_lock guard(mutex_, std::try_to_lock);
        if (!guard || stage_ != stage::running || cause_ == stop_cause::lost) return deadline;
        if (now < renew_at_) return std::min(deadline, renew_at_);
    }
    const auto found = ask_to_renew();
    {
        const std::scoped_lock guard(mutex_);
        // The handler may have returned meanwhile: then the row's fence decides.
        if (stage_ != stage::running || cause_ == stop_cause::lost) return time_point::max();
        take_renewal(found, now);
    }
    const time_point next = expire(now);
    const std::scoped_lock guard(mutex_);
    return cause_ == stop_cause::lost ? time_point::max() : std::min(next, renew_at_);
}

void task_attempt::end(handler_end how) {
    const std::scoped_lock guard(mutex_);
    result_ = std::move(how);
    choose_stage();
}

void task_attempt::choose_stage() {
    if (cause_ == stop_cause::worker_stops && result_.why) {
        stage_ = stage::giving_back;
    } else if (result_.why || cause_ == stop_cause::cancelled) {
        stage_ = stage::failing;
    } else {
        stage_ = staged_.empty() ? stage::finishing : stage::publishing;
    }
}

std::optional<time_point> task_attempt::settle(time_point now) {
    const std::scoped_lock guard(mutex_);
    switch (stage_) {
        case stage::publishing: return publish_step(now);
        case stage::moving: return move_step(now);
        case stage::finishing: return finish_step(now);
        case stage::failing: return fail_step(now);
        case stage::giving_back: return give_back_step(now);
        case stage::running:
        case stage::over: break;
    }
    return std::nullopt;
}

task_attempt::step_result task_attempt::over(attempt_end how) {
    stage_ = stage::over;
    ended_ = std::move(how);
    return std::nullopt;
}

// The row has another fence, or has ended: whatever was made is nobody's.
task_attempt::step_result task_attempt::refused() {
    if (stage_ != stage::moving) discard_output(staged_);
    return over({attempt_end::kind::lost, task_state::running,
                 cause_ == stop_cause::none ? "another worker has taken it over"
                                            : std::string(cause_text(cause_))});
}

// An error of the database, which may have carried it out. Every write may be repeated: what was
// carried out then answers as if it had been refused, which is no more than lost.
task_attempt::step_result task_attempt::again(time_point now, const error& why) {
    if (now < valid_until_) return now + settle_pause(how_.lease);
    return over(
        {attempt_end::kind::lost, task_state::running,
         fmt::format("the database did not answer before its lease ended ({})", why.detail)});
}

task_attempt::step_result task_attempt::publish_step(time_point now) {
    const stalled_output where{row_.id, 0, staged_, place_};
    const auto won = table_.publish(report(), where, stored_text(result_.said), how_.lease);
    if (!won) return again(now, won.error());
    if (!*won) {
        // Cancelled at the last moment, perhaps: then it is still ours to end.
        result_.why = error{errc::cancelled, "it was cancelled"};
        stage_ = stage::failing;
        return now;
    }
    stage_ = stage::moving;
    valid_until_ = expiry(now);
    return now;
}

task_attempt::step_result task_attempt::move_step(time_point now) {
    const auto moved = move_into_place(staged_, place_);
    if (moved && (*moved == move_result::moved || *moved == move_result::there)) {
        stage_ = stage::finishing;
        return now;
    }
    const std::string why = !moved ? moved.error().detail
                            : *moved == move_result::gone
                                ? std::string("its output is gone")
                                : fmt::format("there is something at {} already", place_);
    result_.why = error{errc::unavailable, why};
    stage_ = stage::failing;
    return now;
}

task_attempt::step_result task_attempt::finish_step(time_point now) {
    const auto done = table_.finish(report(), stored_text(result_.said));
    if (!done) return again(now, done.error());
    if (!*done) return refused();
    return over({attempt_end::kind::finished, task_state::finished, {}});
}

task_attempt::step_result task_attempt::fail_step(time_point now) {
    const error why = result_.why.value_or(error{errc::cancelled, "it was cancelled"});
    const bool stopped = cause_ != stop_cause::none;
    const std::string text =
        stored_text(stopped ? std::string(cause_text(cause_)) : why.detail, 2000);
    const bool permanent = why == errc::invalid_argument && !stopped;
    const auto kind = permanent ? task_table::failure::permanent : task_table::failure::may_retry;
    const duration wait = retry_delay(row_.retry, row_.failures, table_.chance());
    const auto state = table_.fail(report(), text, wait, kind);
    if (!state) return again(now, state.error());
    if (!*state) return refused();
    discard_output(staged_);
    return over({attempt_end::kind::failed, **state, text});
}

task_attempt::step_result task_attempt::give_back_step(time_point now) {
    const auto state = table_.give_back(report());
    if (!state) return again(now, state.error());
    if (!*state) return refused();
    discard_output(staged_);
    return over({attempt_end::kind::given_back, **state, {}});
}

result<std::optional<task_state>> complete_output(task_table& table, const stalled_output& what) {
    const task_table::report of{what.id, what.fence};
    const auto moved = move_into_place(what.staged, what.place);
    if (!moved) return std::unexpected(moved.error());
    if (*moved != move_result::moved && *moved != move_result::there) return table.unpublish(of);
    const auto done = table.finish(of, "");
    if (!done) return std::unexpected(done.error());
    return *done ? std::optional(task_state::finished) : std::nullopt;
}

}  // namespace holdfast::detail

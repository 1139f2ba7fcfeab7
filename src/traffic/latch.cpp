// SPDX-License-Identifier: Apache-2.0
//
// The script counts; a message tells those who wait that it is over. The message is only the quick
// way: whoever waits also looks once a second, so one that is lost costs no more than that. An
// engine without messages is looked at as often as a waiter for a lock looks there.
#include <holdfast/latch.hpp>

#include "command/script_call.hpp"
#include "core/lease_bounds.hpp"
#include "core/to_ms.hpp"
#include "core/validity.hpp"
#include "traffic/latch_codes.hpp"
#include "traffic/traffic_scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

// Without messages: a quarter of the time it has waited, within these.
constexpr duration first_look = 1ms;
constexpr duration last_look = 50ms;

// After the engine's trouble. Long enough not to flood it.
constexpr duration pause_after_trouble = 100ms;

// What waiting cures.
bool passes(const error& why) {
    return why == errc::unavailable || why == errc::timed_out || why == errc::outcome_unknown;
}

/// Where one wait sleeps: rung by a message, a gap between messages, or the stop token.
class alarm_bell {
public:
    void ring() {
        const std::scoped_lock guard(mutex_);
        rung_ = true;
        changed_.notify_all();
    }
    void sleep(clock& time, time_point until) {
        std::unique_lock held(mutex_);
        while (!rung_ && time.now() < until) time.wait_until(held, changed_, until);
        rung_ = false;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool rung_ = false;
};

}  // namespace

latch::latch(command_access where, std::string_view name, std::uint32_t count,
             latch_options options)
    : where_(std::move(where)),
      name_(name),
      key_(detail::kept_key(options.prefix, name_, detail::kept::latch).view()),
      count_(count),
      options_(std::move(options)) {}

result<void> latch::ready() const {
    if (where_.engine() == nullptr) {
        return fail(errc::unsupported,
                    "a latch needs an engine of Redis commands: memory:, sqlite: or Redis");
    }
    if (count_ == 0 || count_ > max_count) {
        return fail(errc::invalid_argument,
                    fmt::format("count is {}: give it 1 to {}", count_, max_count));
    }
    return detail::first_failure(
        {detail::check_key(name_), detail::check_span("life", options_.life),
         detail::check_prefix(options_.prefix), detail::check_timeout(options_.timeout)});
}

std::string latch::channel() const {
    return "holdfast:latch:" + key_;
}

// How many are still missing, after n have arrived. The arguments are right.
result<latch::standing> latch::touch(std::uint32_t n, std::string_view round, keep life) {
    const std::string token = n == 0 && !round.empty() ? "" : detail::draw_token(where_.chance());
    const std::string told = channel();
    detail::script_call q(detail::traffic_scripts::all().latch, 1, repeat::idempotent);
    q.word(key_);
    q.word(count_);
    q.word(life == keep::prolong ? detail::to_ms(options_.life) : 0);
    q.word(n);
    q.word(token);
    q.word(told);
    q.word(round);
    const auto answered = detail::ask(where_, q.as_command(), key_, options_.timeout);
    if (!answered) return std::unexpected(answered.error());
    const auto& parts = answered->elements();
    if (parts.size() < 2) return fail(errc::corrupt, "latch.lua answered " + to_string(*answered));
    const auto number = static_cast<std::uint32_t>(parts[1].number());
    switch (parts[0].number()) {
        case code::other_count:
            return fail(errc::invalid_argument,
                        fmt::format("the latch '{}' was made with a count of {}, not {}: use one "
                                    "count for one name",
                                    name_, number, count_));
        case code::too_many:
            return fail(errc::invalid_argument,
                        fmt::format("{} arrive at the latch '{}', which misses only {}: nothing "
                                    "was counted",
                                    n, name_, number));
        case code::round_over:
            return fail(errc::cancelled,
                        fmt::format("the latch '{}' was reset, removed or forgotten before all had "
                                    "arrived",
                                    name_));
        default: break;
    }
    if (parts.size() != 3) return fail(errc::corrupt, "latch.lua answered " + to_string(*answered));
    return standing{number, std::string(parts[2].text())};
}

result<latch::standing> latch::arrive(std::uint32_t n) {
    if (auto fit = ready(); !fit) return std::unexpected(fit.error());
    if (n == 0 || n > count_) {
        return fail(errc::invalid_argument, fmt::format("n is {}: give it 1 to {}", n, count_));
    }
    return touch(n, "", keep::prolong);
}

result<std::uint32_t> latch::count_down(std::uint32_t n) {
    const auto now = arrive(n);
    if (!now) return std::unexpected(now.error());
    return now->missing;
}

result<bool> latch::try_wait() {
    if (auto fit = ready(); !fit) return std::unexpected(fit.error());
    const auto now = touch(0, "", keep::prolong);
    if (!now) return std::unexpected(now.error());
    return now->missing == 0;
}

result<void> latch::wait(const latch_wait& how) {
    return wait_for("", how);
}

result<void> latch::wait_for(std::string round, const latch_wait& how) {
    if (auto fit = ready(); !fit) return fit;
    if (how.wait < duration::zero()) {
        return fail(errc::invalid_argument, "wait is negative: it takes zero or more");
    }
    command_engine& engine = *where_.engine();
    clock& time = engine.time();
    const time_point began = time.now();
    const time_point until = later(began, how.wait);
    // Its life is prolonged before it is over, and not with each of many looks.
    const duration prolonging = std::min<duration>(detail::longest_poll, options_.life / 3);
    time_point prolonged = began - prolonging;
    alarm_bell bell;
    const std::stop_callback stopping(how.stop, [&] { bell.ring(); });
    std::unique_ptr<subscription> ears;  // ends before the bell
    bool deaf = false;                   // the engine has no messages
    for (;;) {
        if (how.stop.stop_requested()) {
            return fail(errc::cancelled, fmt::format("the wait for '{}' was cancelled", name_));
        }
        const time_point looked = time.now();
        const bool prolongs = looked - prolonged >= prolonging;
        const auto seen = touch(0, round, prolongs ? keep::prolong : keep::as_it_is);
        if (seen && seen->missing == 0) return {};
        if (!seen && !passes(seen.error())) return std::unexpected(seen.error());
        if (seen) round = seen->round;
        if (seen && prolongs) prolonged = looked;
        const time_point now = time.now();
        if (now >= until) {
            if (!seen) return std::unexpected(seen.error());
            return fail(errc::timed_out,
                        fmt::format("the latch '{}' still misses {}", name_, seen->missing));
        }
        if (seen && ears == nullptr && !deaf) {
            auto heard = engine.subscribe(
                channel(), channel_scope::global, [&](const push_event&) { bell.ring(); },
                std::min(until, later(now, options_.timeout)));
            if (heard) {
                ears = std::move(*heard);
                continue;  // it may have opened before we listened
            }
            deaf = heard.error() == errc::unsupported;
        }
        const duration pause =
            deaf ? std::clamp((now - began) / 4, first_look, last_look) : prolonging;
        bell.sleep(time, std::min(until, later(now, seen ? pause : pause_after_trouble)));
    }
}

result<void> latch::arrive_and_wait(std::uint32_t n, const latch_wait& how) {
    if (how.wait < duration::zero()) {
        return fail(errc::invalid_argument, "wait is negative: it takes zero or more");
    }
    auto now = arrive(n);
    if (!now) return std::unexpected(std::move(now.error()));
    if (now->missing == 0) return {};
    return wait_for(std::move(now->round), how);
}

// 0: there is no next round.
result<bool> latch::end_round(std::uint32_t next_count) {
    if (auto fit = ready(); !fit) return std::unexpected(fit.error());
    const std::string token = detail::draw_token(where_.chance());
    const std::string told = channel();
    detail::script_call q(detail::traffic_scripts::all().latch_end, 1, repeat::idempotent);
    q.word(key_);
    q.word(token);
    q.word(next_count);
    q.word(detail::to_ms(options_.life));
    q.word(told);
    const auto answered = detail::ask(where_, q.as_command(), key_, options_.timeout);
    if (!answered) return std::unexpected(answered.error());
    return answered->number() == 1;
}

result<void> latch::reset() {
    const auto done = end_round(count_);
    if (!done) return std::unexpected(done.error());
    return {};
}

result<bool> latch::remove() {
    return end_round(0);
}

}  // namespace holdfast

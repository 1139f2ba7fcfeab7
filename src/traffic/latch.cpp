// SPDX-License-Identifier: Apache-2.0
//
// The script counts; a message tells those who wait that it is over. The message is only the quick
// way: whoever waits also looks once a second, so one that is lost costs no more than that.
#include <holdfast/latch.hpp>

#include "core/validity.hpp"
#include "traffic/question.hpp"
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

constexpr duration longest_look = 1s;

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

latch::latch(command_place where, std::string_view name, std::uint32_t count, latch_options options)
    : where_(std::move(where)),
      name_(name),
      key_(options.prefix + name_),
      count_(count),
      options_(std::move(options)) {}

result<void> latch::ready() const {
    if (where_.engine() == nullptr) {
        return fail(errc::unsupported,
                    "a latch needs an engine that speaks Redis commands: memory: or a Redis");
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
result<std::uint32_t> latch::touch(std::uint32_t n, duration timeout) {
    const std::string token = n == 0 ? "" : detail::draw_token(where_.chance());
    const std::string told = channel();
    detail::question q(detail::traffic_scripts::all().latch, 1, repeat::idempotent);
    q.word(key_);
    q.word(count_);
    q.word(detail::to_ms(options_.life));
    q.word(n);
    q.word(token);
    q.word(told);
    const auto answered = detail::ask(where_, q.as_command(), key_, timeout);
    if (!answered) return std::unexpected(answered.error());
    const auto& parts = answered->elements();
    if (parts.size() != 2) return fail(errc::corrupt, "latch.lua answered " + to_string(*answered));
    const auto number = static_cast<std::uint32_t>(parts[1].number());
    if (parts[0].number() == -1) {
        return fail(errc::invalid_argument,
                    fmt::format("the latch '{}' was made with a count of {}, not {}: use one count "
                                "for one name",
                                name_, number, count_));
    }
    if (parts[0].number() == -2) {
        return fail(errc::invalid_argument,
                    fmt::format("{} arrive at the latch '{}', which misses only {}: nothing was "
                                "counted",
                                n, name_, number));
    }
    return number;
}

result<std::uint32_t> latch::count_down(std::uint32_t n) {
    if (auto fit = ready(); !fit) return std::unexpected(fit.error());
    if (n == 0 || n > count_) {
        return fail(errc::invalid_argument, fmt::format("n is {}: give it 1 to {}", n, count_));
    }
    return touch(n, options_.timeout);
}

result<bool> latch::try_wait() {
    if (auto fit = ready(); !fit) return std::unexpected(fit.error());
    const auto left = touch(0, options_.timeout);
    if (!left) return std::unexpected(left.error());
    return *left == 0;
}

result<void> latch::wait(const latch_wait& how) {
    if (auto fit = ready(); !fit) return fit;
    if (how.wait < duration::zero()) {
        return fail(errc::invalid_argument, "wait is negative: it takes zero or more");
    }
    command_engine& engine = *where_.engine();
    clock& time = engine.time();
    const time_point until = later(time.now(), how.wait);
    alarm_bell bell;
    const std::stop_callback stopping(how.stop, [&] { bell.ring(); });
    std::unique_ptr<subscription> ears;  // ends before the bell
    for (;;) {
        if (how.stop.stop_requested()) {
            return fail(errc::cancelled, fmt::format("the wait for '{}' was cancelled", name_));
        }
        const auto left = touch(0, options_.timeout);
        if (left && *left == 0) return {};
        if (!left && !passes(left.error())) return std::unexpected(left.error());
        const time_point now = time.now();
        if (now >= until) {
            if (!left) return std::unexpected(left.error());
            return fail(errc::timed_out,
                        fmt::format("the latch '{}' still misses {}", name_, *left));
        }
        if (left && ears == nullptr) {
            auto heard = engine.subscribe(
                channel(), channel_scope::global, [&](const push_event&) { bell.ring(); },
                std::min(until, later(now, options_.timeout)));
            if (heard) {
                ears = std::move(*heard);
                continue;  // it may have opened before we listened
            }
        }
        bell.sleep(time, std::min(until, later(now, left ? longest_look : pause_after_trouble)));
    }
}

result<void> latch::arrive_and_wait(std::uint32_t n, const latch_wait& how) {
    if (how.wait < duration::zero()) {
        return fail(errc::invalid_argument, "wait is negative: it takes zero or more");
    }
    const auto left = count_down(n);
    if (!left) return std::unexpected(left.error());
    if (*left == 0) return {};
    return wait(how);
}

}  // namespace holdfast

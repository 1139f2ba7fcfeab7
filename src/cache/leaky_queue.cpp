// SPDX-License-Identifier: Apache-2.0
#include <holdfast/leaky_queue.hpp>

#include "cache/cache_scripts.hpp"
#include "cache/wake_counter.hpp"
#include "command/script_call.hpp"
#include "core/validity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace holdfast {
namespace {

// An engine without subscriptions is asked this often; otherwise a message comes first.
constexpr duration idle_look = std::chrono::milliseconds(500);
// Another worker may leave without telling.
constexpr duration longest_sleep = std::chrono::seconds(1);

std::int64_t whole_us(duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

std::string_view run_handler(const leaky_queue::handler& handle, std::string_view request) {
    try {
        return handle(request) ? "done" : "failed";
    } catch (...) {
        return "failed";
    }
}

}  // namespace

struct leaky_queue::step {
    enum class kind : std::uint8_t { busy, empty, wait, take } what = kind::empty;
    duration pause{};
    std::string request;
    bool dropped = false;
};

leaky_queue::leaky_queue(command_access where, std::string_view name, leaky_queue_options options)
    : where_(std::move(where)),
      name_(name),
      list_(detail::kept_key(options.prefix, name, detail::kept::leaky_list).view()),
      state_(detail::kept_key(options.prefix, name, detail::kept::leaky_state).view()),
      options_(std::move(options)) {}

result<void> leaky_queue::ready() const {
    if (options_.capacity < 1 || options_.capacity > 1'000'000) {
        return fail(errc::invalid_argument,
                    fmt::format("capacity is {}: give it 1 to 1,000,000", options_.capacity));
    }
    if (options_.attempts < 1 || options_.attempts > 1000) {
        return fail(errc::invalid_argument,
                    fmt::format("attempts is {}: give it 1 to 1000", options_.attempts));
    }
    return detail::first_failure(
        {detail::check_place(where_), detail::check_span("every", options_.every),
         detail::check_span("lease", options_.lease), detail::check_span("life", options_.life),
         detail::check_prefix(options_.prefix), detail::check_timeout(options_.timeout),
         detail::check_key(name_)});
}

result<leaky_put> leaky_queue::put(std::string_view request) {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    if (request.size() > options_.max_bytes) {
        return fail(errc::invalid_argument, fmt::format("the request has {} bytes: at most {}",
                                                        request.size(), options_.max_bytes));
    }
    detail::script_call q(detail::cache_scripts::all().leaky_put, 2, repeat::never);
    q.word(list_);
    q.word(state_);
    q.word(request);
    q.word(options_.capacity);
    q.word(detail::to_ms(options_.life));
    q.word(whole_us(options_.every));
    const auto seen = detail::ask(where_, q.as_command(), list_, options_.timeout);
    if (!seen) return std::unexpected(seen.error());
    const auto& list = seen->elements();
    return leaky_put{list.at(0).number() == 1, static_cast<std::uint64_t>(list.at(1).number()),
                     std::chrono::microseconds(list.at(2).number())};
}

result<std::uint64_t> leaky_queue::size() {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    const auto seen =
        detail::ask(where_, words("LLEN", list_).idempotent(), list_, options_.timeout);
    if (!seen) return std::unexpected(seen.error());
    return static_cast<std::uint64_t>(seen->number());
}

result<leaky_queue::step> leaky_queue::take(std::string_view token, std::string_view outcome) {
    detail::script_call q(detail::cache_scripts::all().leaky_take, 2, repeat::never);
    q.word(list_);
    q.word(state_);
    q.word(token);
    q.word(outcome);
    q.word(whole_us(options_.lease));
    q.word(whole_us(options_.every));
    q.word(options_.attempts);
    q.word(detail::to_ms(options_.life));
    auto seen = detail::ask(where_, q.as_command(), list_, options_.timeout);
    if (!seen) return std::unexpected(std::move(seen.error()));
    auto list = std::move(*seen).elements();
    step next;
    next.dropped = list.at(2).number() == 1;
    const std::string& what = list.at(0).text();
    if (what == "take") {
        next.what = step::kind::take;
        next.request = std::move(list.at(1)).text();
        return next;
    }
    next.what = what == "busy"   ? step::kind::busy
                : what == "wait" ? step::kind::wait
                                 : step::kind::empty;
    next.pause = std::chrono::microseconds(list.at(1).number());
    return next;
}

result<leaky_drained> leaky_queue::drain(const handler& handle, const std::stop_token& stop) {
    if (auto fit = ready(); !fit) return std::unexpected(std::move(fit.error()));
    command_engine& engine = *where_.engine();
    detail::wake_counter told;
    const std::stop_callback wake(stop, [&told] { told.tell(); });
    // Without messages the worker looks now and then.
    const auto heard = engine.subscribe(
        list_, channel_scope::global, [&told](const push_event&) { told.tell(); },
        later(engine.time().now(), options_.timeout));
    const std::string token = detail::draw_token(where_.chance());
    leaky_drained done;
    std::string_view outcome;
    while (!stop.stop_requested()) {
        const auto mark = told.count();
        const auto next = take(token, outcome);
        if (!next) return std::unexpected(next.error());
        outcome = {};
        if (next->dropped) ++done.dropped;
        if (next->what == step::kind::take) {
            outcome = run_handler(handle, next->request);
            ++(outcome == "done" ? done.handled : done.failed);
            continue;
        }
        duration pause = next->what == step::kind::empty ? longest_sleep : next->pause;
        if (next->what != step::kind::wait) {
            pause = std::min(pause, heard ? longest_sleep : idle_look);
        }
        told.wait(mark, engine.time(), later(engine.time().now(), pause));
    }
    detail::script_call leave(detail::cache_scripts::all().leaky_leave, 2, repeat::idempotent);
    leave.word(list_);
    leave.word(state_);
    leave.word(token);
    leave.word(outcome);
    const auto left = detail::ask(where_, leave.as_command(), list_, options_.timeout);
    if (!left) return std::unexpected(left.error());
    return done;
}

}  // namespace holdfast

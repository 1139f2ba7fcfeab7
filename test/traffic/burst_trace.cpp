// SPDX-License-Identifier: Apache-2.0
//
// The same bursts on each rule, on the embedded engine in virtual time: what the plot in the guide
// shows. Prints "rule,second" for each request that was offered ("offered") and admitted.
//
// A leaky bucket's requests count when they have their turn.
#include <holdfast/holdfast.hpp>
#include <holdfast/virtual_clock.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <deque>
#include <utility>

namespace {

using namespace std::chrono_literals;
using holdfast::duration;

constexpr duration length = 20s;

// Two a second all the time; forty a second from 3 to 6 s, and from 11 to 12.5 s.
duration gap_at(duration t) {
    const bool burst = (t >= 3s && t < 6s) || (t >= 11s && t < 12500ms);
    return burst ? duration(25ms) : duration(500ms);
}

double seconds(duration d) {
    return std::chrono::duration<double>(d).count();
}

bool trace(const char* name, const holdfast::limit_rule& rule) {
    holdfast::virtual_clock time;
    auto hf = holdfast::open("memory:", {.time = &time});
    if (!hf) return false;
    holdfast::rate_limiter limiter(*hf, rule);
    for (duration t{}; t < length; t += gap_at(t)) {
        const auto answer = limiter.take("k");
        if (!answer) return false;
        if (answer->allowed) fmt::print("{},{:.3f}\n", name, seconds(t + answer->delay));
        time.advance(gap_at(t));
    }
    return true;
}

// Each that is admitted is at work for a while, and then lets the next one in.
bool trace_at_work(const char* name, std::uint32_t permits, duration work) {
    holdfast::virtual_clock time;
    auto hf = holdfast::open("memory:", {.time = &time});
    if (!hf) return false;
    holdfast::concurrency_limiter limiter(*hf, {.permits = permits});
    std::deque<std::pair<duration, holdfast::permit>> working;
    for (duration t{}; t < length; t += gap_at(t)) {
        for (; !working.empty() && working.front().first <= t; working.pop_front()) {
            if (!std::move(working.front().second).release()) return false;
        }
        auto answer = limiter.enter("k");
        if (!answer) return false;
        if (answer->held) {
            fmt::print("{},{:.3f}\n", name, seconds(t));
            working.emplace_back(t + work, *std::move(answer->held));
        }
        time.advance(gap_at(t));
    }
    return true;
}

}  // namespace

int main() {
    using namespace holdfast;
    for (duration t{}; t < length; t += gap_at(t)) fmt::print("offered,{:.3f}\n", seconds(t));
    // All of them: 20 in 4 seconds.
    const bool good =
        trace("fixed_window", fixed_window{.limit = 20, .window = 4s}) &&
        trace("sliding_log", sliding_log{.limit = 20, .window = 4s}) &&
        trace("sliding_counter, strict", sliding_counter{.limit = 20, .window = 4s}) &&
        trace("sliding_counter, unbiased, 1 part",
              sliding_counter{.limit = 20, .window = 4s, .mode = counting::unbiased, .parts = 1}) &&
        trace("token_bucket", token_bucket{.capacity = 20, .refill = 5, .period = 1s}) &&
        trace("leaky_bucket", leaky_bucket{.drain = 5, .period = 1s, .queue = 19}) &&
        trace_at_work("concurrency_limiter, 4 permits, 0.8 s of work each", 4, 800ms);
    std::fflush(stdout);
    return good ? 0 : 1;
}

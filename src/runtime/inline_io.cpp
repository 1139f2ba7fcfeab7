// SPDX-License-Identifier: Apache-2.0
#include "runtime/inline_io.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

thread_local inline_io* open_turn = nullptr;

// More connections than that are left to the engines' own threads.
constexpr std::size_t most_guests = 16;

constexpr duration longest_step = 1ms;

}  // namespace

inline_io::inline_io(clock& time, adaptive_yield& waits)
    : time_(time), waits_(waits), outer_(std::exchange(open_turn, this)) {
    guests_.reserve(most_guests);
}

inline_io::~inline_io() {
    open_turn = outer_;
    for (const auto& one : guests_) one->leave();
}

inline_io* inline_io::current() noexcept {
    return open_turn != nullptr && open_turn->guests_.size() < most_guests ? open_turn : nullptr;
}

void inline_io::add(std::unique_ptr<guest> one) {
    guests_.push_back(std::move(one));
}

void inline_io::serve(time_point until, const std::function<bool()>& over) {
    while (!guests_.empty() && !over() && time_.now() < until) step(until);
}

void inline_io::linger(duration at_most) {
    const auto idle = [this] {
        return std::ranges::none_of(guests_, [](const auto& one) { return one->busy(); });
    };
    serve(time_.now() + at_most, idle);
}

// Guests may come while others are served: handlers ask anew. They are not polled yet.
void inline_io::step(time_point until) {
    std::array<pollfd, 2 * most_guests> fds;
    const std::size_t count = guests_.size();
    const time_point now = time_.now();
    time_point wake = std::min(until, now + longest_step);
    for (std::size_t i = 0; i < count; ++i) {
        fds[2 * i] = {guests_[i]->descriptor(), guests_[i]->expects(wake), 0};
        fds[2 * i + 1] = {guests_[i]->bell(), POLLIN, 0};
    }
    const duration left = std::max(wake - now, duration::zero());
    const timespec timeout{.tv_sec = 0, .tv_nsec = static_cast<long>(left.count())};
    const int ready = poll_with_yield(waits_, std::span(fds).first(2 * count), timeout);
    const bool late = ready <= 0 || time_.now() >= wake;
    for (std::size_t i = 0; i < count; ++i) {
        const short seen = ready > 0 ? fds[2 * i].revents : short{0};
        const bool rung = ready > 0 && fds[2 * i + 1].revents != 0;
        if (seen == 0 && !rung && !late) continue;
        if (!guests_[i]->serve(seen, rung)) guests_[i].reset();
    }
    std::erase(guests_, nullptr);
}

}  // namespace holdfast::detail

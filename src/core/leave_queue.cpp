// SPDX-License-Identifier: Apache-2.0
#include "core/leave_queue.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr duration pause = 200ms;

// What nobody knows of is in the way of others for no longer than this.
constexpr duration pause_in_doubt = 1s;

}  // namespace

void leave_queue::add(ask::leave request, time_point until, std::uint32_t finds) {
    fresh_.push_back(
        std::make_shared<entry>(entry{std::move(request), until, time_point::min(), finds}));
}

void leave_queue::add_doubt(ask::leave request, time_point until, std::uint32_t finds) {
    add(std::move(request), until, finds);
    fresh_.back()->only_in_doubt = true;
}

void leave_queue::hurry() {
    hurries_ = true;
    for (auto* const waiting : {&doubted_, &again_}) {
        for (handle& one : *waiting) {
            one->next = time_point::min();
            fresh_.push_back(std::move(one));
        }
        waiting->clear();
    }
}

std::vector<leave_queue::handle> leave_queue::due(time_point now) {
    std::vector<handle> found;
    take(again_, now, found);
    take(doubted_, now, found);
    take(fresh_, now, found);
    return found;
}

void leave_queue::take(std::deque<handle>& from, time_point now, std::vector<handle>& due) {
    while (!from.empty() && from.front()->next <= now && due.size() < most_at_once &&
           in_flight_ < most_in_flight) {
        handle first = std::move(from.front());
        from.pop_front();
        if (now >= first->until) continue;
        ++in_flight_;
        due.push_back(std::move(first));
    }
}

time_point leave_queue::next() const noexcept {
    if (in_flight_ >= most_in_flight) return time_point::max();
    if (!fresh_.empty()) return time_point::min();
    const auto first = [](const std::deque<handle>& in) {
        return in.empty() ? time_point::max() : in.front()->next;
    };
    return std::min(first(again_), first(doubted_));
}

void leave_queue::answered(handle one, bool found, time_point now) {
    --in_flight_;
    if (found && one->finds > 0) --one->finds;
    if (one->finds == 0 || hurries_) return;
    one->only_in_doubt = true;
    one->next = later(now, pause_in_doubt);
    doubted_.push_back(std::move(one));
}

void leave_queue::failed(handle one, time_point now) {
    --in_flight_;
    if (hurries_ && one->only_in_doubt) return;
    if (hurries_ && !one->hurried) {
        one->hurried = true;
        one->next = time_point::min();
        fresh_.push_back(std::move(one));
        return;
    }
    one->next = later(now, pause);
    again_.push_back(std::move(one));
}

std::size_t leave_queue::size() const noexcept {
    return in_flight_ + fresh_.size() + again_.size() + doubted_.size();
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "core/leave_queue.hpp"

#include "core/mutation.hpp"
#include "core/validity.hpp"

#include <chrono>
#include <utility>

namespace holdfast::detail {
namespace {

using namespace std::chrono_literals;

constexpr duration pause = 200ms;

}  // namespace

void leave_queue::add(ask::leave request, time_point until) {
    fresh_.push_back(std::make_shared<entry>(entry{std::move(request), until, time_point::min()}));
}

std::vector<leave_queue::handle> leave_queue::due(time_point now) {
    std::vector<handle> found;
    take(again_, now, found);
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
    return again_.empty() ? time_point::max() : again_.front()->next;
}

void leave_queue::answered() {
    --in_flight_;
}

void leave_queue::failed(handle one, time_point now) {
    --in_flight_;
    if (mutation("background_leaves_once")) return;
    one->next = later(now, pause);
    again_.push_back(std::move(one));
}

std::size_t leave_queue::size() const noexcept {
    return in_flight_ + fresh_.size() + again_.size();
}

}  // namespace holdfast::detail

// SPDX-License-Identifier: Apache-2.0
#include "lock/ears.hpp"

#include "core/validity.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::detail {
namespace {

// The exchange may take this long; then its waiter looks again, which opens anew. Short, because
// closing waits for it.
constexpr duration longest_opening = std::chrono::seconds(1);

bool waits(const lease_request& request) {
    const auto* asked = std::get_if<ask::acquire>(&request);
    return asked != nullptr && asked->otherwise == ask::when_busy::stand_in_line;
}

void submit_now(lease_store& store, lease_request request, time_point give_up,
                ears::answer_handler on_reply) {
    std::vector<lease_request> one;
    one.push_back(std::move(request));
    store.submit(std::move(one), give_up,
                 [tell = std::move(on_reply)](std::size_t, result<lease_reply> reply) {
                     tell(std::move(reply));
                 });
}

}  // namespace

ears::~ears() {
    close();
}

void ears::submit(lease_store& store, lease_request request, time_point give_up, clock& time,
                  answer_handler on_reply) {
    if (waits(request)) {
        const std::scoped_lock guard(mutex_);
        if (state_ == state::opening) {
            parked_.push_back({std::move(request), give_up, std::move(on_reply)});
            return;
        }
        if (state_ == state::deaf) {
            state_ = state::opening;
            if (thread_.joinable()) thread_.join();  // it has said its last word already
            const time_point soon = std::min(give_up, later(time.now(), longest_opening));
            thread_ = std::thread(
                [this, &store, soon,
                 first = parked{std::move(request), give_up, std::move(on_reply)}]() mutable {
                    open(store, std::move(first), soon);
                });
            return;
        }
    }
    submit_now(store, std::move(request), give_up, std::move(on_reply));
}

void ears::open(lease_store& store, parked first, time_point give_up) {
    result<lease_reply> reply;
    store.exchange({&first.request, 1}, {&reply, 1}, give_up);
    std::vector<parked> others;
    {
        const std::scoped_lock guard(mutex_);
        if (state_ == state::opening) state_ = reply ? state::open : state::deaf;
        others.swap(parked_);
    }
    first.on_reply(std::move(reply));
    for (auto& one : others) {
        submit_now(store, std::move(one.request), one.give_up, std::move(one.on_reply));
    }
}

void ears::close() {
    std::thread last;
    {
        const std::scoped_lock guard(mutex_);
        state_ = state::open;
        last = std::move(thread_);
    }
    if (last.joinable()) last.join();
}

}  // namespace holdfast::detail

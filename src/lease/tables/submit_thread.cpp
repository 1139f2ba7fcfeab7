// SPDX-License-Identifier: Apache-2.0
#include "lease/tables/submit_thread.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace holdfast::sql {

struct submit_thread::state {
    exchange carry_out;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<job> jobs;
    std::size_t requests = 0;
    bool closing = false;
    bool orphan = false;  // the store is gone: nothing can be carried out any more
};

namespace {

void refuse(const submit_thread::job& one) {
    for (std::size_t i = 0; i < one.requests.size(); ++i) {
        one.on_reply(i, fail(errc::unavailable,
                             fmt::format("the database is closed, or {} requests wait for it",
                                         submit_thread::most_requests)));
    }
}

}  // namespace

submit_thread::submit_thread(exchange carry_out) : state_(std::make_shared<state>()) {
    state_->carry_out = std::move(carry_out);
}

submit_thread::~submit_thread() {
    if (state_ == nullptr) return;
    const bool own = thread_.get_id() == std::this_thread::get_id();
    {
        const std::scoped_lock guard(state_->mutex);
        state_->closing = true;
        state_->orphan = own;
    }
    state_->changed.notify_all();
    if (own) {
        thread_.detach();
    } else if (thread_.joinable()) {
        thread_.join();
    }
}

void submit_thread::forget() noexcept {
    static_cast<void>(new std::shared_ptr<state>(std::move(state_)));
    static_cast<void>(new std::thread(std::move(thread_)));
}

void submit_thread::add(job next) {
    std::unique_lock guard(state_->mutex);
    if (state_->closing || state_->requests + next.requests.size() > most_requests) {
        guard.unlock();
        refuse(next);
        return;
    }
    state_->requests += next.requests.size();
    state_->jobs.push_back(std::move(next));
    if (!thread_.joinable()) thread_ = std::thread([all = state_] { run(all); });
    guard.unlock();
    state_->changed.notify_one();
}

void submit_thread::run(const std::shared_ptr<state>& all) {
    std::unique_lock guard(all->mutex);
    while (true) {
        all->changed.wait(guard, [&] { return all->closing || !all->jobs.empty(); });
        if (all->jobs.empty()) return;
        job next = std::move(all->jobs.front());
        all->jobs.pop_front();
        all->requests -= next.requests.size();
        const bool orphan = all->orphan;
        guard.unlock();
        if (orphan) {
            refuse(next);
        } else {
            std::vector<result<lease_reply>> replies(next.requests.size());
            all->carry_out(next.requests, replies, next.give_up);
            for (std::size_t i = 0; i < replies.size(); ++i) {
                next.on_reply(i, std::move(replies[i]));
            }
        }
        next = {};
        guard.lock();
    }
}

}  // namespace holdfast::sql

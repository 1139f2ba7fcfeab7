// SPDX-License-Identifier: Apache-2.0
#include "net/worker_pool.hpp"

#include <utility>

namespace holdfast::net {

worker_pool::worker_pool(std::size_t threads, std::size_t queue) : bound_(queue) {
    threads_.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) {
        threads_.emplace_back([this] { run(); });
    }
}

worker_pool::~worker_pool() {
    {
        const std::scoped_lock guard(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    threads_.clear();
}

bool worker_pool::offer(job work) {
    {
        const std::scoped_lock guard(mutex_);
        if (ending_ || waiting_.size() >= bound_) return false;
        waiting_.push_back(std::move(work));
    }
    changed_.notify_one();
    return true;
}

void worker_pool::run() {
    std::unique_lock held(mutex_);
    while (true) {
        changed_.wait(held, [this] { return ending_ || !waiting_.empty(); });
        if (waiting_.empty()) return;
        job work = std::move(waiting_.front());
        waiting_.pop_front();
        held.unlock();
        work();
        work = nullptr;
        held.lock();
    }
}

}  // namespace holdfast::net

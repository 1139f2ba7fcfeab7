// SPDX-License-Identifier: Apache-2.0
#include "lock/loss_pool.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace holdfast::detail {

struct loss_pool::desk {
    std::mutex mutex;
    std::condition_variable arrived;
    std::condition_variable ended;
    std::deque<std::stop_source> queue;
    std::unordered_map<std::thread::id, std::thread> workers;
    std::vector<std::thread> finished;  ///< To be joined.
    std::size_t idle = 0;  ///< Workers that have taken nothing, also those not started yet.
    bool closed = false;
    bool left_alone = false;  ///< Closed from a callback: nobody joins what is still running.

    // Requires: the mutex is held, as for all below.
    void need_idle(const std::shared_ptr<desk>& self);
    bool fire_one(std::unique_lock<std::mutex>& held);
    void end_worker();
    void join_finished();
};

namespace {

// The pool whose worker this thread is.
thread_local const void* working_for = nullptr;

}  // namespace

void loss_pool::desk::need_idle(const std::shared_ptr<desk>& self) {
    if (idle > 0) {
        arrived.notify_one();
        return;
    }
    if (workers.size() >= most_threads) return;
    join_finished();
    try {
        std::thread worker(run, self);
        const auto id = worker.get_id();
        workers.emplace(id, std::move(worker));
    } catch (const std::system_error&) {  // the machine has no more threads: as at the bound
        if (workers.empty()) throw;
        return;
    }
    ++idle;
}

bool loss_pool::desk::fire_one(std::unique_lock<std::mutex>& held) {
    if (queue.empty()) return false;
    auto lost = std::move(queue.front());
    queue.pop_front();
    held.unlock();
    lost.request_stop();
    lost = std::stop_source(std::nostopstate);
    held.lock();
    return true;
}

void loss_pool::desk::end_worker() {
    auto self = workers.extract(std::this_thread::get_id());
    if (left_alone) {
        self.mapped().detach();
    } else {
        finished.push_back(std::move(self.mapped()));
    }
    ended.notify_all();
}

// They need no lock any more.
void loss_pool::desk::join_finished() {
    for (std::thread& one : finished) one.join();
    finished.clear();
}

loss_pool::loss_pool(upkeep by) : by_(by), desk_(std::make_shared<desk>()) {}

loss_pool::~loss_pool() {
    close();
}

void loss_pool::fire(std::stop_source lost) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->closed) return;
    desk_->queue.push_back(std::move(lost));
    if (by_ == upkeep::threads) desk_->need_idle(desk_);
}

// It is idle when it comes here, and counted so.
void loss_pool::run(const std::shared_ptr<desk>& desk) {
    working_for = desk.get();
    std::unique_lock held(desk->mutex);
    for (;;) {
        desk->arrived.wait(held, [&] { return !desk->queue.empty() || desk->closed; });
        --desk->idle;
        while (!desk->queue.empty()) {
            if (desk->queue.size() > 1) desk->need_idle(desk);
            desk->fire_one(held);
        }
        if (desk->idle > 0 || desk->closed) break;
        ++desk->idle;
    }
    desk->end_worker();
}

void loss_pool::step() {
    std::unique_lock held(desk_->mutex);
    while (desk_->fire_one(held)) {
    }
}

void loss_pool::close() {
    std::unique_lock held(desk_->mutex);
    desk_->closed = true;
    desk_->arrived.notify_all();
    if (working_for == desk_.get()) {
        desk_->left_alone = true;
        desk_->join_finished();
        return;
    }
    desk_->ended.wait(held, [&] { return desk_->workers.empty(); });
    desk_->join_finished();
}

}  // namespace holdfast::detail

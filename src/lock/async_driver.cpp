// SPDX-License-Identifier: Apache-2.0
#include "lock/async_driver.hpp"

#include "core/validity.hpp"

#include <algorithm>

namespace holdfast::detail {

struct async_driver::desk {
    struct message {
        std::uint64_t to;
        std::optional<result<lease_reply>> reply;  ///< None: look what happened.
    };
    struct guest {
        std::unique_ptr<operation> task;
        /// When it wants to be woken; max while it waits for an answer. Timers that do not say the
        /// same are old.
        time_point wakes = time_point::max();
        bool answering = false;
    };
    using timer = std::pair<time_point, std::uint64_t>;

    explicit desk(clock& t) : time(t) {}

    void leave(message news);
    [[nodiscard]] std::unique_ptr<operation> remove(std::uint64_t number);
    [[nodiscard]] std::optional<message> next_message(time_point now);
    [[nodiscard]] time_point next_wake() const;
    static void serve(const std::shared_ptr<desk>& self, lease_store& store, message news);
    static void follow(const std::shared_ptr<desk>& self, lease_store& store, std::uint64_t number,
                       operation::action next);
    static void dispatch(const std::shared_ptr<desk>& self, lease_store& store,
                         std::uint64_t number, operation::send out);
    static void run(const std::shared_ptr<desk>& self, const std::shared_ptr<lease_store>& store);
    void end_all();

    clock& time;
    std::mutex mutex;
    std::condition_variable changed;
    std::uint64_t numbers = 0;
    std::unordered_map<std::uint64_t, guest> guests;
    std::deque<message> inbox;
    std::priority_queue<timer, std::vector<timer>, std::greater<>> timers;
    bool closing = false;  ///< Nobody comes any more.
    bool over = false;     ///< Whoever is still here is put out.
};

void async_driver::inbox::ring() noexcept {
    desk_->leave({number_, std::nullopt});
}

void async_driver::desk::leave(message news) {
    const std::scoped_lock guard(mutex);
    if (over) return;
    inbox.push_back(std::move(news));
    changed.notify_all();
}

std::unique_ptr<operation> async_driver::desk::remove(std::uint64_t number) {
    const std::scoped_lock guard(mutex);
    auto gone = guests.extract(number);
    if (closing) changed.notify_all();
    return gone.empty() ? nullptr : std::move(gone.mapped().task);
}

std::optional<async_driver::desk::message> async_driver::desk::next_message(time_point now) {
    if (!inbox.empty()) {
        auto first = std::move(inbox.front());
        inbox.pop_front();
        return first;
    }
    while (!timers.empty() && timers.top().first <= now) {
        const auto [when, number] = timers.top();
        timers.pop();
        const auto found = guests.find(number);
        if (found != guests.end() && found->second.wakes == when) return message{number, {}};
    }
    return std::nullopt;
}

time_point async_driver::desk::next_wake() const {
    return timers.empty() ? time_point::max() : timers.top().first;
}

void async_driver::desk::run(const std::shared_ptr<desk>& self,
                             const std::shared_ptr<lease_store>& store) {
    desk& d = *self;
    std::unique_lock held(d.mutex);
    while (!d.over) {
        if (auto news = d.next_message(d.time.now())) {
            held.unlock();
            serve(self, *store, std::move(*news));
            held.lock();
        } else {
            d.time.wait_until(held, d.changed, d.next_wake());
        }
    }
    held.unlock();
    d.end_all();
}

// Only this thread removes guests or touches their operations, so the operation stays where it is
// while the mutex is not held.
void async_driver::desk::serve(const std::shared_ptr<desk>& self, lease_store& store,
                               message news) {
    operation* task = nullptr;
    {
        const std::scoped_lock guard(self->mutex);
        const auto found = self->guests.find(news.to);
        if (found == self->guests.end()) return;
        guest& who = found->second;
        if (who.answering != news.reply.has_value()) return;  // it will look when it sleeps
        who.answering = false;
        task = who.task.get();
    }
    follow(self, store, news.to,
           news.reply ? task->on_reply(std::move(*news.reply)) : task->on_wake());
}

void async_driver::desk::follow(const std::shared_ptr<desk>& self, lease_store& store,
                                std::uint64_t number, operation::action next) {
    if (std::holds_alternative<operation::finished>(next)) {
        if (const auto task = self->remove(number)) task->complete();
        return;
    }
    auto* out = std::get_if<operation::send>(&next);
    {
        const std::scoped_lock guard(self->mutex);
        const auto found = self->guests.find(number);
        if (found == self->guests.end()) return;
        guest& who = found->second;
        who.answering = out != nullptr;
        const auto wakes =
            out != nullptr ? time_point::max() : std::get<operation::sleep>(next).until;
        if (out == nullptr && wakes != who.wakes) self->timers.emplace(wakes, number);
        who.wakes = wakes;
    }
    if (out != nullptr) dispatch(self, store, number, std::move(*out));
}

void async_driver::desk::dispatch(const std::shared_ptr<desk>& self, lease_store& store,
                                  std::uint64_t number, operation::send out) {
    std::vector<lease_request> one;
    one.push_back(std::move(out.request));
    store.submit(std::move(one), out.give_up,
                 [self, number](std::size_t, result<lease_reply> reply) {
                     self->leave({number, std::move(reply)});
                 });
}

// Whoever is still here is told that it is over.
void async_driver::desk::end_all() {
    std::unordered_map<std::uint64_t, guest> left;
    {
        const std::scoped_lock guard(mutex);
        left.swap(guests);
    }
    for (auto& [number, who] : left) {
        who.task->abort();
        who.task->complete();
    }
}

async_driver::async_driver(std::shared_ptr<lease_store> store, clock& time, upkeep by)
    : store_(std::move(store)), desk_(std::make_shared<desk>(time)), by_(by) {}

async_driver::~async_driver() {
    close(time_point::min());
}

bool async_driver::full() const {
    const std::scoped_lock guard(desk_->mutex);
    return desk_->guests.size() >= most;
}

std::shared_ptr<async_driver::inbox> async_driver::new_inbox() {
    const std::scoped_lock guard(desk_->mutex);
    return std::make_shared<inbox>(desk_, ++desk_->numbers);
}

void async_driver::take(const std::shared_ptr<inbox>& where, std::unique_ptr<operation> task) {
    auto next = task->start();
    if (std::holds_alternative<operation::finished>(next)) return task->complete();
    if (!admit(where->number_, std::holds_alternative<operation::send>(next), task)) {
        task->abort();
        return task->complete();
    }
    if (auto* out = std::get_if<operation::send>(&next)) {
        desk::dispatch(desk_, *store_, where->number_, std::move(*out));
    }
}

// True if the async driver has it now. One that sleeps looks once by itself: it may have been rung
// before it was here.
bool async_driver::admit(std::uint64_t number, bool sends, std::unique_ptr<operation>& task) {
    const std::scoped_lock guard(desk_->mutex);
    if (desk_->closing) return false;
    if (by_ == upkeep::threads && !thread_.joinable()) {
        thread_ = std::thread(desk::run, desk_, store_);
    }
    desk_->guests.emplace(number, desk::guest{.task = std::move(task), .answering = sends});
    if (sends) return true;
    desk_->inbox.push_back({number, std::nullopt});
    desk_->changed.notify_all();
    return true;
}

time_point async_driver::step() {
    desk& d = *desk_;
    std::unique_lock held(d.mutex);
    while (auto news = d.next_message(d.time.now())) {
        held.unlock();
        desk::serve(desk_, *store_, std::move(*news));
        held.lock();
    }
    return d.next_wake();
}

void async_driver::begin_close() {
    const std::scoped_lock guard(desk_->mutex);
    desk_->closing = true;
}

void async_driver::close(time_point until) {
    desk& d = *desk_;
    std::thread ending;
    bool here = false;
    {
        std::unique_lock held(d.mutex);
        d.closing = true;
        here = thread_.get_id() == std::this_thread::get_id();
        while (!here && !d.guests.empty() && d.time.now() < until) {
            d.time.wait_until(held, d.changed, until);
        }
        d.over = true;
        d.changed.notify_all();
        ending = std::move(thread_);
    }
    if (here) {
        d.end_all();
        ending.detach();  // it owns its desk, and ends when this completion returns
    } else if (ending.joinable()) {
        ending.join();
    } else {
        d.end_all();
    }
}

}  // namespace holdfast::detail

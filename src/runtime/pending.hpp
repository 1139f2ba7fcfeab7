// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

/// A value that comes later, from another thread.
///
/// It is what a coroutine of a driver returns, and what it awaits:
///
///     pending<int> sum(pending<int> a, pending<int> b) { co_return co_await a + co_await b; }
///
/// A coroutine begins at once, on its caller's thread, and goes on where what it awaits completes.
/// Take arguments by value: a reference may not live as long as the coroutine.
namespace holdfast::detail {

template <class T>
class pending {
public:
    pending() : state_(std::make_shared<state>()) {}

    /// Sets the value. Returns false, and does nothing, if there is one already.
    bool complete(T value) const {
        std::coroutine_handle<> waiting;
        std::function<void(T)> then;
        {
            const std::scoped_lock guard(state_->mutex);
            if (state_->done) return false;
            state_->done = true;
            state_->value = std::move(value);
            waiting = std::exchange(state_->waiting, nullptr);
            then = std::exchange(state_->then, nullptr);
            state_->ready.notify_all();
        }
        if (then) then(take());
        if (waiting) waiting.resume();
        return true;
    }

    /// Blocks: until the value is there. Takes it; once.
    T wait() const {
        std::unique_lock held(state_->mutex);
        state_->ready.wait(held, [&] { return state_->done; });
        return std::move(*state_->value);
    }

    /// Calls `then` with the value when it is there, perhaps now. Takes it; once.
    void then(std::function<void(T)> then) const {
        {
            const std::scoped_lock guard(state_->mutex);
            if (!state_->done) {
                state_->then = std::move(then);
                return;
            }
        }
        then(take());
    }

    // For co_await.
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiting) const {
        const std::scoped_lock guard(state_->mutex);
        if (state_->done) return false;
        state_->waiting = waiting;
        return true;
    }
    T await_resume() const { return take(); }

    class promise_type {
    public:
        pending get_return_object() const { return result_; }
        [[nodiscard]] std::suspend_never initial_suspend() const noexcept { return {}; }
        [[nodiscard]] std::suspend_never final_suspend() const noexcept { return {}; }
        void return_value(T value) const { result_.complete(std::move(value)); }
        [[noreturn]] void unhandled_exception() const noexcept { std::terminate(); }

    private:
        pending result_;
    };

private:
    struct state {
        std::mutex mutex;
        std::condition_variable ready;
        bool done = false;
        std::optional<T> value;
        std::coroutine_handle<> waiting;
        std::function<void(T)> then;
    };

    T take() const {
        const std::scoped_lock guard(state_->mutex);
        return std::move(*state_->value);
    }

    std::shared_ptr<state> state_;
};

}  // namespace holdfast::detail

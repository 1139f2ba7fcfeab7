// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

/// One thread at a time, with a limit on how long one waits for it.
///
/// A database that another process has locked keeps the thread that is at it for up to its
/// deadline; those behind it must not wait past theirs.
namespace holdfast::sql {

class turn {
public:
    explicit turn(clock& time) : clock_(time) {}

    /// Ends the turn when it goes.
    class held {
    public:
        explicit held(turn& of) : of_(&of) {}
        held(held&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
        held& operator=(held&&) = delete;
        ~held() {
            if (of_ == nullptr) return;
            {
                const std::scoped_lock guard(of_->mutex_);
                of_->taken_ = false;
            }
            of_->free_.notify_one();
        }

    private:
        turn* of_;
    };

    /// Blocks: until it is this thread's turn, at most until `give_up`; then nothing.
    [[nodiscard]] std::optional<held> enter(time_point give_up) {
        std::unique_lock guard(mutex_);
        while (taken_) {
            if (clock_.now() >= give_up) return std::nullopt;
            clock_.wait_until(guard, free_, give_up);
        }
        taken_ = true;
        return std::optional<held>(std::in_place, *this);
    }

private:
    clock& clock_;
    std::mutex mutex_;
    std::condition_variable free_;
    bool taken_ = false;
};

}  // namespace holdfast::sql

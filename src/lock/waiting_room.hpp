// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lease_store.hpp>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <variant>

/// Where the acquisitions of one client sleep until something concerns them.
///
/// The engine's pushes come with an owner; the room finds the one that sleeps under it and wakes that
/// one alone. Order of the locks: the room's, then a waiter's.
namespace holdfast::detail {

/// One sleeping acquisition. Lives on its caller's stack.
class waiter {
public:
    struct time_is_up {};
    struct cancelled {};
    struct closed {};
    using event = std::variant<time_is_up, handed_over, look_again, cancelled, closed>;

    explicit waiter(clock& time) : clock_(time) {}

    /// Sleeps until something happens, at most until `until`; what happened before counts too.
    [[nodiscard]] event sleep(time_point until);

    void hand_over(const handed_over& given);
    void look();
    void cancel();
    void close();

private:
    clock& clock_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<handed_over> given_;
    bool look_ = false;
    bool cancelled_ = false;
    bool closed_ = false;
};

/// Thread safety: all members may be called from any thread.
class waiting_room {
public:
    /// A waiter is in the room as long as its seat lives.
    class seat {
    public:
        seat(waiting_room& room, const owner_token& owner, waiter& who);
        seat(const seat&) = delete;
        seat& operator=(const seat&) = delete;
        ~seat();

    private:
        waiting_room& room_;
        const owner_token& owner_;
    };

    void hear(const lease_push& push);

    /// Ends every wait, also those that come later.
    void close();

private:
    std::mutex mutex_;
    std::unordered_map<owner_token, waiter*> waiters_;
    bool closed_ = false;
};

}  // namespace holdfast::detail

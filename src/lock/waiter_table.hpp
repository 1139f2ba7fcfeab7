// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease_state.hpp"
#include "runtime/event.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/lease_store.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <variant>

/// Where the acquisitions of one client sleep until something concerns them.
///
/// The engine's pushes come with an owner; the room finds the one that sleeps under it and wakes
/// that one alone. Order of the locks: the room's, then a waiter's, then whatever its bell takes.
namespace holdfast::detail {

/// How a waiter without a thread of its own is woken. It is rung under the waiter's lock, perhaps
/// on an engine's thread: it must be short, and call nothing of ours.
class bell {
public:
    bell() = default;
    bell(const bell&) = delete;
    bell& operator=(const bell&) = delete;
    virtual void ring() noexcept = 0;

protected:
    ~bell() = default;
};

/// One acquisition that waits: on its caller's thread, which sleeps, or with a bell, on nobody's.
class waiter {
public:
    struct time_is_up {};
    struct cancelled {};
    struct closed {};
    struct your_turn {};
    using passed = std::shared_ptr<lease_state>;
    using event =
        std::variant<time_is_up, handed_off, passed, your_turn, poll_again, cancelled, closed>;

    explicit waiter(clock& time, bell* rings = nullptr) : clock_(time), bell_(rings) {}

    /// Sleeps until something happens, at most until `until`; what happened before counts too.
    [[nodiscard]] event sleep(time_point until);

    /// What happened and has not been told yet, without sleeping.
    [[nodiscard]] std::optional<event> happened();

    /// Has something happened that has not been told yet?
    [[nodiscard]] bool has_news();

    /// From now on, what other threads do to it also raises `signal`, for this thread waits in
    /// poll(). Null: no more.
    void poll_with(detail::event* signal);

    void handoff(const handed_off& given);
    void pass_on(passed lease);
    void take_turn();
    void look();
    void cancel();
    void close();

private:
    [[nodiscard]] std::optional<event> take();
    void wake();

    clock& clock_;
    bell* const bell_;
    std::mutex mutex_;
    detail::event* signal_ = nullptr;
    std::thread::id poller_;
    std::condition_variable changed_;
    std::optional<handed_off> given_;
    passed passed_;
    bool turn_ = false;
    bool look_ = false;
    bool cancelled_ = false;
    bool closed_ = false;
};

/// Thread safety: all members may be called from any thread.
class waiter_table {
public:
    /// A waiter is in the room as long as its seat lives.
    class seat {
    public:
        seat(waiter_table& room, owner_token owner, waiter& who);
        seat(const seat&) = delete;
        seat& operator=(const seat&) = delete;
        ~seat();

    private:
        waiter_table& room_;
        const owner_token owner_;
    };

    void hear(const lease_push& push);

    [[nodiscard]] std::size_t size();

    /// Ends every wait, also those that come later.
    void close();

private:
    std::mutex mutex_;
    std::unordered_map<owner_token, waiter*> waiters_;
    bool closed_ = false;
};

}  // namespace holdfast::detail

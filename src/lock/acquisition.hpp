// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/acquire_machine.hpp"
#include "lock/waiter_table.hpp"

#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <optional>
#include <stop_token>
#include <variant>

/// One acquire, from the call to its outcome, without a thread.
///
/// One that waits stands behind the others of its client first (local_queues.hpp), then asks the
/// engine by the machine of core/acquire_machine.hpp. Of those who want the name alone one asks at
/// a time; of those who share it, or take permits, several do, each with a place of its own in the
/// engine's line: they may be let in together, and only the engine knows.
///
/// Each step says what to do next and does not wait, so there are two drivers and one acquisition:
/// lock_runtime sleeps on the caller's thread, and the async driver (async_driver.hpp) drives any
/// number of them on one. The blocking driver needs no allocation and no other thread; that is why
/// it is not a wait around the asynchronous one.
namespace holdfast::detail {

class lock_runtime;

class acquisition {
public:
    using send = acquire_machine::send;
    using sleep = acquire_machine::sleep;
    using action = std::variant<send, sleep, result<lease>>;

    /// With a bell, it is rung whenever happened() of its waiter has news.
    /// Requires: all that is passed outlives it.
    acquisition(lock_runtime& runtime, const lock_name& name, const acquire_options& options,
                const lease_mode& mode, bell* rings = nullptr);
    acquisition(const acquisition&) = delete;
    acquisition& operator=(const acquisition&) = delete;

    // Events. `start` comes first; after `send`, `on_reply` comes exactly once; after `sleep`,
    // `on_event`. None comes after the result.
    [[nodiscard]] action start();
    [[nodiscard]] action on_reply(result<lease_reply> reply);
    [[nodiscard]] action on_event(const waiter::event& event);

    /// Instead of the next event: ends it now because the client is closing. What the engine may
    /// know of it is undone in the background.
    [[nodiscard]] result<lease> abort();

    [[nodiscard]] waiter& waits() noexcept { return me_; }

private:
    struct canceller {
        waiter* who;
        void operator()() const { who->cancel(); }
    };

    [[nodiscard]] bool waits_in_queue() const noexcept;
    /// It wants the name alone.
    [[nodiscard]] bool alone() const noexcept;
    [[nodiscard]] time_point wait_until() const noexcept;
    [[nodiscard]] action stand_behind();
    [[nodiscard]] action behind(const waiter::event& event);
    [[nodiscard]] action ask_engine();
    [[nodiscard]] action next(acquire_machine::action&& from_machine);
    [[nodiscard]] result<lease> settle(acquire_machine::finish&& end);
    [[nodiscard]] result<lease> refuse(error why);

    lock_runtime& runtime_;
    const lock_name& name_;
    const acquire_options& options_;
    const lease_mode mode_;
    time_point asked_;
    waiter me_;
    std::optional<std::stop_callback<canceller>> stopping_;
    std::optional<acquire_machine> machine_;  ///< None while it stands behind others.
    std::optional<waiter_table::seat> seat_;
    bool stood_behind_ = false;
};

}  // namespace holdfast::detail

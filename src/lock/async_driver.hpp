// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/upkeep.hpp"
#include "lock/waiter_table.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/engine/lease_store.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

/// Drives every asynchronous operation of one client, on one thread.
///
/// An operation is an operation: steps that say what to do next and never wait. Its first step and
/// its first request are the caller's own; from then on only the async driver's thread touches it.
/// Whatever happens to it (an answer, a handoff, its turn, a cancel) is left in the async
/// driver's inbox from whichever thread it happened on; the moments to look again are timers here.
/// So ten thousand that wait cost one thread, and no engine's thread ever runs a user's code.
///
/// Answers refer to an operation by its number, never to the operation: it holds the client's
/// runtime, and an engine's thread must not be the one to let go of that.
namespace holdfast::detail {

/// One asynchronous operation.
class operation {
public:
    struct send {
        lease_request request;
        time_point give_up;
    };
    struct sleep {
        time_point until;
    };
    struct finished {};
    using action = std::variant<send, sleep, finished>;

    operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;
    virtual ~operation() = default;

    [[nodiscard]] virtual action start() = 0;
    [[nodiscard]] virtual action on_reply(result<lease_reply> reply) = 0;
    /// It sleeps, and something may have happened, or its time has come.
    [[nodiscard]] virtual action on_wake() = 0;
    /// The client closes: be done now.
    virtual void abort() = 0;
    /// Tells the user. Called once, when it is done, with no lock held.
    virtual void complete() = 0;
};

class async_driver {
    struct desk;

public:
    /// A number for one operation, and the bell that is heard under it.
    class inbox final : public bell {
    public:
        inbox(std::shared_ptr<desk> where, std::uint64_t number)
            : desk_(std::move(where)), number_(number) {}
        ~inbox() = default;
        void ring() noexcept override;

    private:
        friend class async_driver;
        std::shared_ptr<desk> desk_;
        const std::uint64_t number_;
    };

    async_driver(std::shared_ptr<lease_store> store, clock& time, upkeep by = upkeep::threads);
    async_driver(const async_driver&) = delete;
    async_driver& operator=(const async_driver&) = delete;
    ~async_driver();

    /// How many operations there may be at once: beyond that a program has lost count of its waits.
    static constexpr std::size_t most = 100'000;

    /// Whether there are that many.
    [[nodiscard]] bool full() const;

    [[nodiscard]] std::shared_ptr<inbox> new_inbox();

    /// Starts it, here and now; it may be complete when this returns.
    void take(const std::shared_ptr<inbox>& where, std::unique_ptr<operation> task);

    /// Nobody comes any more.
    void begin_close();

    /// Lets what is under way end until `until`, then ends it. Afterwards everything that comes is
    /// aborted. May be called from a completion, on the async driver's own thread: then it waits
    /// for nothing.
    void close(time_point until);

    /// Serves whoever has news or whose time has come, and answers when the next one wakes. For
    /// whoever runs it by hand.
    time_point step();

private:
    [[nodiscard]] bool admit(std::uint64_t number, bool sends, std::unique_ptr<operation>& task);

    const std::shared_ptr<lease_store> store_;
    const std::shared_ptr<desk> desk_;
    const upkeep by_;
    std::thread thread_;  ///< Guarded by the desk's mutex, as its start and end.
};

}  // namespace holdfast::detail

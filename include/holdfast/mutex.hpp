// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/holder_note.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/lease_info.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>
#include <thread>

/// A mutex that works across machines: one holder at a time, first come, first served.
///
/// It has two interfaces. acquire() returns a value: a `lease` with its fence, or an error; prefer
/// it. lock(), try_lock() and unlock() work with std::unique_lock and std::scoped_lock, and throw
/// std::system_error where std::mutex would.
///
/// Example:
///
///     auto held = hf.mutex("orders/42").acquire({.ttl = 30s, .wait = 2s});
///     if (held) {
///         save(order, held->fence());
///         auto done = std::move(*held).release();
///     } else if (held.error() == holdfast::errc::timed_out) {
///         // somebody else holds it
///     }
namespace holdfast {

class client;
struct lease_observer;

/// No time limit.
inline constexpr duration forever = duration::max();

/// How a lease is extended beyond its first ttl.
enum class renewals : std::uint8_t {
    automatic,  ///< By the client's keeper, until it is released.
    off         ///< Only by lease::renew(): a fixed lease time.
};

struct acquire_options {
    /// How long a dead holder blocks the others. The lease is renewed at a third of it while you
    /// hold; 30 s survives a failover of the engine. 10 ms to 24 h.
    duration ttl = std::chrono::seconds(30);

    /// How long to wait while somebody else holds it; zero asks once. A mutex waits by default.
    duration wait = forever;

    /// How long one lease may be renewed: a task that never ends must not hold for ever. Unlimited
    /// by default, because cutting a task short is worse unless you planned for it. Renewals never
    /// extend the engine's lease beyond this, except by the margin for drift.
    duration max_hold = forever;

    /// `off`: the lease ends `ttl` after it was granted unless you renew it yourself, and lost()
    /// fires then as usual. The keeper still checks now and then that it is held, which does not
    /// extend it. Automatic by default: a task that takes longer than expected is the usual reason
    /// for two holders.
    renewals renewal = renewals::automatic;

    /// How far this machine's clock and the engine's may drift apart over one ttl. The client
    /// treats its lease as expired that much, and 2 ms for rounding, before the engine does. 1 % of
    /// the ttl by default, a hundred times the drift of a synchronised clock. An acquire is refused
    /// if nothing is left of the ttl.
    std::optional<duration> drift = {};

    /// How often the lease may be passed from one waiter of this client to the next without the
    /// engine, each time with a new fence, before other processes get their turn. Zero is fair to
    /// them; 32 makes a name that is hot inside one process many times faster. At most 100.
    std::uint32_t local_passes = 0;

    /// Takes a free name ahead of the queue; a barging waiter is only notified that the name is
    /// free, and must compete. More throughput on a hot name, but a waiter may wait long. Waiters
    /// that do not barge still get it in their order.
    bool barging = false;

    /// Receives the events of this lease alone, as a client's observer receives those of all
    /// (observer.hpp): `.listener = holdfast::listen({.lost = …})`. None by default.
    std::shared_ptr<const lease_observer> listener = {};

    /// Words about this holding that inspect(), list() and `holdfast lock ls` show to people; at
    /// most holder_note::max_bytes. It is written a moment after the grant; nobody waits for that.
    /// None by default: a note costs each acquire, renewal and release one more command. The call
    /// copies the text. It is a view because GCC 12 copies options of a co_await bit by bit.
    std::string_view note = {};

    /// Ends the wait early, with `cancelled`.
    std::stop_token stop = {};
};

/// Thread safety: all members may be called from any thread. Its client may be closed or destroyed
/// first: calls then return invalid_argument.
class mutex {
public:
    /// Does no I/O. The first acquire reports an invalid name.
    mutex(client& owner, std::string_view name, acquire_options defaults = {});
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    /// Releases the leases of lock() in the background.
    ~mutex();

    /// Acquires the mutex, and waits as the options say.
    /// Errors: busy (wait was zero), timed_out, cancelled: somebody else holds it, nothing is left
    /// behind. unavailable, denied, corrupt: the engine failed, nothing is held.
    /// outcome_unknown: the engine may count us as the holder; that ends after the ttl at the
    /// latest. invalid_argument.
    /// Blocks: for at most `wait`, plus a moment to leave the queue.
    /// Cancellation: by options.stop.
    [[nodiscard]] result<lease> acquire();
    [[nodiscard]] result<lease> acquire(const acquire_options& options);

    /// Asks once: as acquire() with `wait` zero.
    [[nodiscard]] result<lease> try_acquire();
    [[nodiscard]] result<lease> try_acquire(acquire_options options);

    using acquire_completion = std::move_only_function<void(result<lease>)>;

    /// As acquire(), without blocking a thread: all asynchronous waits share the client's few.
    /// Calls `done` exactly once, before this returns or on a thread of the client: it must be
    /// short and must not throw. This object is not used after the call. For co_await and
    /// Boost.Asio see asio.hpp.
    /// Errors: as acquire(), and busy if 100,000 of this client are in flight already.
    /// Cancellation: by options.stop.
    void acquire_async(acquire_completion done);
    void acquire_async(const acquire_options& options, acquire_completion done);

    /// Returns whether anyone holds it now, in any mode, other programs included. The answer is out
    /// of date when you read it: to act only if it is free, use try_acquire().
    /// Errors, Blocks: as client::inspect().
    [[nodiscard]] result<bool> is_locked() const;

    /// As client::inspect() and client::evict() of its name.
    [[nodiscard]] result<std::optional<lease_info>> inspect() const;
    [[nodiscard]] result<std::uint32_t> evict(std::string_view reason) const;

    /// The interface of std::mutex. Errors, as std::system_error: those of acquire().
    void lock();
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return lock_within(std::chrono::ceil<duration>(wait));
    }
    /// Does not throw: if the lease was lost meanwhile, there is nothing left to unlock. Does
    /// nothing on a thread that has not locked it: nobody can unlock for the holder.
    void unlock() noexcept;

    /// The lease that this thread holds by lock(), for its fence and its lost(). It ends with
    /// unlock(): keep the fence, not the reference.
    /// Errors: operation_not_permitted, as std::system_error, if this thread has not locked it.
    [[nodiscard]] const lease& current() const;

private:
    friend class lock_manager;
    mutex(std::shared_ptr<detail::lock_runtime> runtime, lock_name name, acquire_options defaults);
    bool lock_within(duration wait);

    std::shared_ptr<detail::lock_runtime> runtime_;
    result<lock_name> name_;
    acquire_options defaults_;
    mutable std::mutex guard_;
    std::map<std::thread::id, lease> held_;
};

}  // namespace holdfast

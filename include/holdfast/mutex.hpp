// SPDX-License-Identifier: Apache-2.0
#pragma once

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
/// Two faces of the same lock. The explicit one answers with values and gives you a `lease` with
/// its fence; prefer it. The std one (`lock`, `try_lock`, `unlock`) works with std::unique_lock and
/// std::scoped_lock, and throws std::system_error where std::mutex would.
namespace holdfast {

class client;
struct lease_observer;

/// No limit of time.
inline constexpr duration forever = duration::max();

/// Who makes a lease run longer than its first ttl.
enum class renewals : std::uint8_t {
    automatic,  ///< The client's keeper, until it is released.
    off         ///< Nobody but lease::renew(): a fixed lease time.
};

struct acquire_options {
    /// How long a holder that is never heard of again blocks the others. It is renewed at a third
    /// of it while you hold; 30 s survives a failover of the engine. 10 ms to 24 h.
    duration ttl = std::chrono::seconds(30);

    /// How long to wait while someone else holds it; zero asks once. A mutex waits by default.
    duration wait = forever;

    /// The longest time one holding may be renewed for: a task that never ends must not hold for
    /// ever. Unlimited by default, because cutting a task short is worse unless you planned for it.
    /// No renewal makes the engine's lease run longer than this, but for the margin for drift.
    duration max_hold = forever;

    /// `off` for a lease that ends `ttl` after it was granted unless you renew it yourself: lost()
    /// fires then as for any other. The keeper still asks now and then whether it is ours, which
    /// does not make it run longer. Automatic by default: a task that takes longer than expected is
    /// the usual reason for two holders.
    renewals renewal = renewals::automatic;

    /// How far this machine's clock and the engine's may drift apart over one ttl: so much earlier
    /// than the engine, and 2 ms for rounding, the holder stops believing in its lease. 1 % of the
    /// ttl by default, which is a hundred times what a clock that is kept in time does. Refused if
    /// nothing is left of the ttl.
    std::optional<duration> drift = {};

    /// How often the lease may pass from one waiter of this client to the next without the engine,
    /// each with a fence of its own, before other processes get their turn. Zero is fair to them;
    /// 32 makes a name that is hot inside one process many times faster. At most 100.
    std::uint32_t local_passes = 0;

    /// Takes a free name before those who wait in line, and while it waits itself is only told that
    /// the name is free, not handed it. The quickest wins: more throughput on a hot name, but who
    /// waits may wait for long. Others who do not barge are still handed it in their turn.
    bool barging = false;

    /// Who hears what happens to this lease alone, as the observer of a client hears it of all
    /// (observer.hpp): `.listener = holdfast::listen({.lost = …})`. Nobody by default.
    std::shared_ptr<const lease_observer> listener = {};

    /// Ends the wait early, with `cancelled`.
    std::stop_token stop = {};
};

/// Thread safety: all members may be called from any thread. Its client may be closed or destroyed
/// first: calls then answer invalid_argument.
class mutex {
public:
    /// Does no I/O. A name that is not one is told by the first acquire.
    mutex(client& owner, std::string_view name, acquire_options defaults = {});
    mutex(const mutex&) = delete;
    mutex& operator=(const mutex&) = delete;
    /// What the std face still holds is released in the background.
    ~mutex();

    /// Waits for it as the options say.
    /// Errors: busy (wait was zero), timed_out, cancelled: someone else holds it, nothing is left
    /// behind. unavailable, denied, corrupt: the engine's trouble, nothing is held.
    /// outcome_unknown: the engine may think that we hold it; it ends by its ttl at the latest.
    /// invalid_argument.
    /// Blocks: for at most `wait`, plus a moment to leave the line.
    /// Cancellation: by options.stop.
    [[nodiscard]] result<lease> acquire();
    [[nodiscard]] result<lease> acquire(const acquire_options& options);

    /// Asks once: the same with `wait` zero.
    [[nodiscard]] result<lease> try_acquire();
    [[nodiscard]] result<lease> try_acquire(acquire_options options);

    using acquire_completion = std::move_only_function<void(result<lease>)>;

    /// As acquire(), without blocking a thread: however many wait, they share the client's few.
    /// `done` is called exactly once, before this returns or on a thread of the client: it must be
    /// short and must not throw. Nothing of this object is used after the call. For co_await and
    /// Boost.Asio see asio.hpp.
    /// Errors: as acquire(), and busy if 100,000 of this client are under way already.
    /// Cancellation: by options.stop.
    void acquire_async(acquire_completion done);
    void acquire_async(const acquire_options& options, acquire_completion done);

    /// Is it held by anyone now, in whatever mode, also by another program? The answer is old when
    /// you read it: to do something only if it is free, use try_acquire().
    /// Errors, Blocks: as client::inspect().
    [[nodiscard]] result<bool> is_locked() const;

    /// As client::inspect() and client::evict() of its name.
    [[nodiscard]] result<std::optional<lease_info>> inspect() const;
    [[nodiscard]] result<std::uint32_t> evict(std::string_view reason) const;

    /// The std face. Errors, as std::system_error: whatever acquire() answers.
    void lock();
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return lock_within(std::chrono::ceil<duration>(wait));
    }
    /// Does not throw: if the lease was lost meanwhile, there is nothing left to unlock. By a
    /// thread that has not locked it, it does nothing: nobody can take a lock from its holder.
    void unlock() noexcept;

    /// The lease that this thread holds by the std face, for its fence and its lost(). It ends with
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

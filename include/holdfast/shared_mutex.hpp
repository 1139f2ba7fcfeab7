// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

/// A mutex across machines that is held by one writer, or by any number of readers.
///
/// Readers and writers wait in one queue, first come, first served: a reader that comes after a
/// writer waits behind it, so writers do not starve, and adjacent readers are admitted together. A
/// dead reader blocks the writers until its ttl is over, and no longer.
///
/// A writer can become a reader without releasing: lease::downgrade(). A reader cannot become a
/// writer, because two readers that both tried would deadlock: release, then acquire. Every lease
/// has its own fence; a writer's is above those of all readers before it.
///
/// A `mutex` of the same name is the same lock, held exclusively. A `semaphore` needs its own name:
/// acquiring one while the other is held is invalid_argument.
///
/// Example:
///
///     auto prices = hf.shared_mutex("prices");
///     auto reading = prices.acquire_shared({.wait = 2s});  // together with other readers
///     auto writing = prices.acquire({.wait = 2s});         // exclusively
namespace holdfast {

/// Thread safety: all members may be called from any thread. Its client may be closed or destroyed
/// first: calls then return invalid_argument.
class shared_mutex {
public:
    /// Does no I/O. The first acquire reports an invalid name.
    shared_mutex(client& owner, std::string_view name, acquire_options defaults = {});
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    /// Releases the leases of lock() and lock_shared() in the background.
    ~shared_mutex();

    /// As the writer, exclusively. Errors, Blocks, Cancellation: as mutex::acquire(); unsupported.
    [[nodiscard]] result<lease> acquire();
    [[nodiscard]] result<lease> acquire(const acquire_options& options);
    [[nodiscard]] result<lease> try_acquire();
    [[nodiscard]] result<lease> try_acquire(acquire_options options);

    /// As a reader, together with others; `local_passes` has no effect.
    /// Errors: as acquire(); busy, too, if there are 10,000 readers.
    [[nodiscard]] result<lease> acquire_shared();
    [[nodiscard]] result<lease> acquire_shared(const acquire_options& options);
    [[nodiscard]] result<lease> try_acquire_shared();
    [[nodiscard]] result<lease> try_acquire_shared(acquire_options options);

    /// Without blocking a thread, as mutex::acquire_async(). For co_await see asio.hpp.
    using acquire_completion = mutex::acquire_completion;
    void acquire_async(const acquire_options& options, acquire_completion done);
    void acquire_shared_async(const acquire_options& options, acquire_completion done);

    /// As mutex::is_locked(): whether any reader or writer holds it now.
    [[nodiscard]] result<bool> is_locked() const;

    /// The interface of std::shared_mutex, for std::unique_lock and std::shared_lock. Errors, as
    /// std::system_error: those of acquire(); resource_deadlock_would_occur, if this thread holds
    /// it already, in either mode: a reader cannot become a writer.
    void lock();
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return lock_within(std::chrono::ceil<duration>(wait), way::exclusive);
    }
    void lock_shared();
    [[nodiscard]] bool try_lock_shared();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& wait) {
        return lock_within(std::chrono::ceil<duration>(wait), way::shared);
    }
    /// Do not throw: if the lease was lost meanwhile, there is nothing left to unlock. Do nothing
    /// on a thread that has not locked it.
    void unlock() noexcept;
    void unlock_shared() noexcept;

    /// From writer to reader, as lease::downgrade(). Errors, as std::system_error: those of
    /// downgrade(); operation_not_permitted, if this thread has not locked it.
    void unlock_and_lock_shared();

    /// The lease that this thread holds by lock(), for its fence and its lost(). It ends with
    /// unlock(): keep the fence, not the reference.
    /// Errors: operation_not_permitted, as std::system_error, if this thread has not locked it.
    [[nodiscard]] const lease& current() const;

private:
    enum class way : std::uint8_t { exclusive, shared };

    [[nodiscard]] result<lease> acquire_as(way how, const acquire_options& options);
    void acquire_async_as(way how, const acquire_options& options, acquire_completion done);
    bool lock_within(duration wait, way how);

    std::shared_ptr<detail::lock_runtime> runtime_;
    result<lock_name> name_;
    acquire_options defaults_;
    mutable std::mutex guard_;
    std::map<std::thread::id, lease> held_;
};

}  // namespace holdfast

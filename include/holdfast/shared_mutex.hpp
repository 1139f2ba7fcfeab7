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

/// A mutex that works across machines and has two ways to hold it: one writer, or any number of
/// readers.
///
///     auto cache = hf.shared_mutex("prices");
///     auto reading = cache.acquire_shared({.wait = 2s});   // beside other readers
///     auto writing = cache.acquire({.wait = 2s});          // alone
///
/// One line for both, first come, first served: a reader that comes after a writer waits for it, so
/// writers do not starve, and readers that stand in a row come in together. A reader that dies
/// blocks the writers until its ttl is over, and no longer.
///
/// A writer may become a reader without letting go: lease::downgrade(). The other way round does
/// not exist, because two readers that both want it would wait for each other: release, then
/// acquire. Every lease has a fence of its own; that of a writer is above those of all readers
/// before it.
///
/// A `mutex` of the same name is the same lock, held exclusively. A `semaphore` needs a name of its
/// own: who asks for the one while the other is held is told invalid_argument.
namespace holdfast {

/// Thread safety: all members may be called from any thread. Its client may be closed or destroyed
/// first: calls then answer invalid_argument.
class shared_mutex {
public:
    /// Does no I/O. A name that is not one is told by the first acquire.
    shared_mutex(client& owner, std::string_view name, acquire_options defaults = {});
    shared_mutex(const shared_mutex&) = delete;
    shared_mutex& operator=(const shared_mutex&) = delete;
    /// What the std face still holds is released in the background.
    ~shared_mutex();

    /// As the writer: alone. Errors, Blocks, Cancellation: as mutex::acquire(); unsupported.
    [[nodiscard]] result<lease> acquire();
    [[nodiscard]] result<lease> acquire(const acquire_options& options);
    [[nodiscard]] result<lease> try_acquire();
    [[nodiscard]] result<lease> try_acquire(acquire_options options);

    /// As a reader: beside others. The same; `local_passes` means nothing here.
    /// Errors: busy, too, if 10,000 read already.
    [[nodiscard]] result<lease> acquire_shared();
    [[nodiscard]] result<lease> acquire_shared(const acquire_options& options);
    [[nodiscard]] result<lease> try_acquire_shared();
    [[nodiscard]] result<lease> try_acquire_shared(acquire_options options);

    /// Without blocking a thread, as mutex::acquire_async(). For co_await see asio.hpp.
    using acquire_completion = mutex::acquire_completion;
    void acquire_async(const acquire_options& options, acquire_completion done);
    void acquire_shared_async(const acquire_options& options, acquire_completion done);

    /// As mutex::is_locked(): is it held by anyone now, by a reader or a writer?
    [[nodiscard]] result<bool> is_locked() const;

    /// The std face, for std::unique_lock and std::shared_lock. Errors, as std::system_error:
    /// whatever acquire() answers; resource_deadlock_would_occur, if this thread holds it already,
    /// in either way: there is no way from reader to writer.
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
    /// Do not throw: if the lease was lost meanwhile, there is nothing left to unlock. By a thread
    /// that has not locked it, they do nothing.
    void unlock() noexcept;
    void unlock_shared() noexcept;

    /// From writer to reader, as lease::downgrade(). Errors, as std::system_error: whatever that
    /// answers; operation_not_permitted, if this thread has not locked it.
    void unlock_and_lock_shared();

    /// The lease that this thread holds by the std face, for its fence and its lost(). It ends with
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

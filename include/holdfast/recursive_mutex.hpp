// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

/// A mutex that its holder may acquire again.
///
/// Levels are counted in this process and nowhere else: acquiring again makes no trip, draws no
/// fence and does not extend the lease, and releasing an inner level makes no trip either. The
/// engine sees one lease, from the first level to the last. If that is lost, it is lost at every
/// level.
///
/// With acquire() the holder is anyone who has a handle; `held.acquire_again()` returns another
/// handle, on any thread, in any coroutine. With lock() it is the thread, as in
/// std::recursive_mutex. The two do not mix: a thread that holds a handle and then calls lock() is
/// a second contender.
namespace holdfast {

/// One level of a lease. The lease ends with its last level, in any order of release.
/// Thread safety: const members may be called from any thread; it may be moved to another thread.
class [[nodiscard]] recursive_lease {
public:
    /// How many levels there may be at once: an endless recursion gets an error.
    static constexpr std::uint32_t most_levels = 65'535;

    recursive_lease(recursive_lease&&) noexcept;
    /// Releases the level that this one held, as the destructor does.
    recursive_lease& operator=(recursive_lease&&) noexcept;
    recursive_lease(const recursive_lease&) = delete;
    recursive_lease& operator=(const recursive_lease&) = delete;
    /// Releases this level; the last one in the background, as ~lease() does.
    ~recursive_lease();

    /// Returns another level of the same lease, with the same fence. Blocks: never.
    /// Errors: lease_lost (the lease is over: release every level, then acquire again), busy (there
    /// are most_levels), invalid_argument (this handle was released or moved).
    [[nodiscard]] result<recursive_lease> acquire_again() const;

    /// The lease that the levels share: name, held(), lost(), reason() …. An empty lease if this
    /// handle was released or moved from.
    [[nodiscard]] const lease& shared() const noexcept;
    /// Also after release(); 0 if this handle was moved from.
    [[nodiscard]] fencing_token fence() const noexcept { return fence_; }
    [[nodiscard]] bool held() const noexcept;

    /// Returns the number of levels now; 0 if this handle was released or moved.
    [[nodiscard]] std::uint32_t levels() const noexcept;

    /// Releases this level. Blocks: the last one for a trip, the others not.
    /// Errors: as lease::release(). An inner level whose lease is lost returns lease_lost, too.
    [[nodiscard]] result<void> release() &&;

private:
    friend class recursive_mutex;
    struct holding;
    explicit recursive_lease(std::shared_ptr<holding> what) noexcept;
    void drop() noexcept;

    std::shared_ptr<holding> holding_;
    fencing_token fence_;
};

/// Thread safety: all members may be called from any thread. Its client may be closed or destroyed
/// first: calls then return invalid_argument.
class recursive_mutex {
public:
    /// Does no I/O. The first acquire reports an invalid name.
    recursive_mutex(client& owner, std::string_view name, acquire_options defaults = {});

    /// Acquires the first level. Errors, Blocks, Cancellation: as mutex::acquire(). It does not
    /// check its caller: for another level, use the handle's acquire_again().
    [[nodiscard]] result<recursive_lease> acquire();
    [[nodiscard]] result<recursive_lease> acquire(const acquire_options& options);
    [[nodiscard]] result<recursive_lease> try_acquire();
    [[nodiscard]] result<recursive_lease> try_acquire(acquire_options options);

    /// The interface of std::recursive_mutex: a thread that has locked it may lock it again, and
    /// must unlock it as often. Errors, as std::system_error: those of acquire(); lease_lost, if
    /// this thread has locked it and its lease was lost meanwhile: unlock it as often as it was
    /// locked, then lock it again; resource_unavailable_try_again past
    /// recursive_lease::most_levels.
    void lock();
    [[nodiscard]] bool try_lock();
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait) {
        return lock_within(std::chrono::ceil<duration>(wait));
    }
    /// Does not throw. Does nothing on a thread that has not locked it: nobody can unlock for the
    /// holder.
    void unlock() noexcept;

    /// The lease that this thread holds by lock().
    /// Errors: operation_not_permitted, as std::system_error, if this thread has not locked it.
    [[nodiscard]] const lease& current() const;

private:
    struct locked {
        lease held;
        std::uint32_t levels = 1;
    };
    bool lock_within(duration wait);
    [[nodiscard]] bool lock_again();

    mutex plain_;
    const acquire_options defaults_;
    mutable std::mutex guard_;
    std::map<std::thread::id, locked> held_;
};

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

/// A semaphore that works across machines: at most n permits are held at a time.
///
/// Permits are leases: renewed while the holder lives, with a lost() and a fence. The permits of a
/// holder that crashes expire after its ttl, by the engine's clock. The queue is first come, first
/// served: small requests do not overtake large ones.
///
/// The number of permits is that of the caller, so pass the same everywhere; or change it for all
/// clients with resize().
///
/// Example:
///
///     auto licences = hf.semaphore("licences", 5);
///     auto one = licences.acquire({.wait = 2s});
///     auto three = licences.acquire(3);  // all at once, or none
namespace holdfast {

/// Thread safety: all members may be called from any thread. Its client may be closed or destroyed
/// first: calls then return invalid_argument.
class semaphore {
public:
    /// `permits` is 1 to 1,000,000. Does no I/O. The first acquire reports invalid arguments.
    semaphore(client& owner, std::string_view name, std::uint32_t permits,
              acquire_options defaults = {});

    /// Acquires permits, all in one lease: its release releases all of them. Waits as the options
    /// say; `local_passes` has no effect.
    /// Errors, Blocks, Cancellation: as mutex::acquire(). invalid_argument: more permits than there
    /// are, which the engine decides: after resize() its number counts, not the constructor's; the
    /// name is held by a mutex. busy, too, if there are 10,000 holders. unsupported.
    [[nodiscard]] result<lease> acquire(std::uint32_t permits = 1);
    [[nodiscard]] result<lease> acquire(const acquire_options& options);
    [[nodiscard]] result<lease> acquire(std::uint32_t permits, const acquire_options& options);

    /// Asks once: as acquire() with `wait` zero. `busy` also if permits are free but others wait.
    [[nodiscard]] result<lease> try_acquire(std::uint32_t permits = 1);
    [[nodiscard]] result<lease> try_acquire(std::uint32_t permits, acquire_options options);

    /// Without blocking a thread, as mutex::acquire_async(). For co_await see asio.hpp.
    using acquire_completion = mutex::acquire_completion;
    void acquire_async(std::uint32_t permits, const acquire_options& options,
                       acquire_completion done);
    void acquire_async(const acquire_options& options, acquire_completion done);

    /// Changes the number of permits for all clients, whatever number they pass; the engine forgets
    /// it when nobody has used the name for a week. More permits go to the waiters at once. With
    /// fewer, nobody loses any: nothing is granted until enough are released, and a waiter that
    /// wants more than there are now gets invalid_argument.
    /// Errors: invalid_argument, unsupported, unavailable, outcome_unknown (retry), …
    /// Blocks: one trip.
    [[nodiscard]] result<void> resize(std::uint32_t permits);

private:
    [[nodiscard]] lease_mode mode_of(std::uint32_t permits) const noexcept;

    std::shared_ptr<detail::lock_runtime> runtime_;
    result<lock_name> name_;
    std::uint32_t permits_;
    acquire_options defaults_;
};

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/lease.hpp>
#include <holdfast/mutex.hpp>

#include <cstdint>
#include <memory>
#include <string_view>

/// A semaphore that works across machines: at most n permits are held at a time.
///
///     auto licences = hf.semaphore("licences", 5);
///     auto one = licences.acquire({.wait = 2s});
///     auto three = licences.acquire(3);             // all at once, or none
///
/// Permits are leases: renewed while you live, with a lost() and a fence, and a holder that crashes
/// gives its permits back at its ttl, by the engine's clock. The line is first come, first served:
/// one that wants many is not overtaken by those who want few.
///
/// How many there are is n of whoever asks, so give all the same; or change it for all while it is
/// in use, by resize().
namespace holdfast {

/// Thread safety: all members may be called from any thread. Its client may be closed or destroyed
/// first: calls then answer invalid_argument.
class semaphore {
public:
    /// Of `permits`, 1 to 1,000,000. Does no I/O. What is wrong is told by the first acquire.
    semaphore(client& owner, std::string_view name, std::uint32_t permits,
              acquire_options defaults = {});

    /// Takes permits, all in one lease: its release gives all of them back. Waits as the options
    /// say; `local_passes` means nothing here.
    /// Errors, Blocks, Cancellation: as mutex::acquire(). invalid_argument: more permits than there
    /// are, which the engine decides: after resize() its number counts, not the constructor's; the
    /// name is held by a mutex. busy, too, if there are 10,000 holders. unsupported.
    [[nodiscard]] result<lease> acquire(std::uint32_t permits = 1);
    [[nodiscard]] result<lease> acquire(const acquire_options& options);
    [[nodiscard]] result<lease> acquire(std::uint32_t permits, const acquire_options& options);

    /// Asks once: the same with `wait` zero. `busy` also if they are free, but others wait.
    [[nodiscard]] result<lease> try_acquire(std::uint32_t permits = 1);
    [[nodiscard]] result<lease> try_acquire(std::uint32_t permits, acquire_options options);

    /// Without blocking a thread, as mutex::acquire_async(). For co_await see asio.hpp.
    using acquire_completion = mutex::acquire_completion;
    void acquire_async(std::uint32_t permits, const acquire_options& options,
                       acquire_completion done);
    void acquire_async(const acquire_options& options, acquire_completion done);

    /// Changes how many permits there are, for all clients, whatever they say; it is forgotten when
    /// nobody has used the name for a week. With more, those who wait get them at once. With fewer,
    /// nobody loses any: nothing is granted until enough have come back, and who waits for more
    /// than there are now ends with invalid_argument.
    /// Errors: invalid_argument, unsupported, unavailable, outcome_unknown (ask again), …
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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/lease_token.hpp>
#include <holdfast/names.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

/// A lease on a name: exclusive or shared ownership for a time that is renewed while the process
/// lives, with a fencing token.
///
/// A lease can end without its holder: the engine forgets it, the network is cut, the process is
/// paused. `lost()` fires before anyone else can hold the name, and `held()` compares the clock
/// itself, so it is right even when no thread of ours could run. Neither can stop a write that is
/// already in flight: for that, send `fence()` with the write and let the resource refuse an older
/// one.
///
/// Example:
///
///     auto held = hf.mutex("cleaner").acquire().value();
///     for (int item : items) {
///         if (!held.held()) break;  // lost: stop, and write nothing more
///         clean(item, held.fence());
///     }
///     auto done = std::move(held).release();  // learns the outcome
namespace holdfast {

namespace detail {
struct lease_state;
class lock_runtime;
}  // namespace detail

enum class lease_status : std::uint8_t {
    held,      ///< Valid.
    jeopardy,  ///< Valid, but the last renewal failed, or the engine's clock was set forward since;
               ///< the renewal is retried until the deadline.
    lost,      ///< No longer valid, and not released: see reason().
    released   ///< Released.
};

enum class loss_reason : std::uint8_t {
    none,
    expired,   ///< Could not be renewed before its deadline (cut off, paused, engine down), or the
               ///< engine's clock was set forward (clock_step_policy::lose).
    missing,   ///< The engine no longer has it: deleted, or forgotten.
    evicted,   ///< Evicted by client::evict(): see loss_text().
    max_hold,  ///< Held for as long as `max_hold` allows.
    closed,    ///< The client was closed.
    forked     ///< This is a child of the process that holds it.
};

[[nodiscard]] std::string_view to_string(lease_status status) noexcept;
[[nodiscard]] std::string_view to_string(loss_reason reason) noexcept;

/// After release() a lease still has its name, fence, mode and lost(), as they were, for logs. A
/// moved-from lease is empty: no name, fence 0, and a lost() that never fires.
///
/// Thread safety: const members may be called from any thread; it may be moved to another thread.
class [[nodiscard]] lease {
public:
    lease(lease&&) noexcept;
    /// Releases the lease that this one held, as the destructor does.
    lease& operator=(lease&&) noexcept;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    /// Passes an unreleased lease to the keeper, which releases it at once in the background. Does
    /// not throw and does not wait for the network.
    ~lease();

    [[nodiscard]] const lock_name& name() const noexcept;
    [[nodiscard]] fencing_token fence() const noexcept;
    /// How it is held: exclusively, shared, or by how many permits of how many.
    [[nodiscard]] lease_mode mode() const noexcept;

    /// Fires when the lease is lost (not when it is released). Callbacks run on threads of the
    /// client, outside any lock of ours; they may use Holdfast. A callback that blocks delays the
    /// other callbacks of this lease, not those of another lease, unless 128 block at the same
    /// time. An exception from a callback ends the process, as with std::stop_callback.
    [[nodiscard]] std::stop_token lost() const;

    /// Returns whether the lease is valid now. Costs a clock read, no trip.
    [[nodiscard]] bool held() const noexcept;

    /// Returns how long the lease stays valid without another renewal. Zero if it is not valid.
    [[nodiscard]] duration remaining() const noexcept;

    [[nodiscard]] lease_status status() const noexcept;
    [[nodiscard]] loss_reason reason() const noexcept;

    /// Returns the reason that the operator gave; empty unless the reason is `evicted`.
    [[nodiscard]] std::string loss_text() const;

    /// Releases the lease and returns the outcome. In any case the lease is over here. A lease that
    /// was lost here but may still exist on the engine (`max_hold`, `expired`) is released there in
    /// the background, and this returns lease_lost.
    /// Blocks: one trip. Errors: lease_lost (it was no longer held: work done under it may have
    /// overlapped with another holder), outcome_unknown (released in the background, or left to its
    /// ttl).
    [[nodiscard]] result<void> release() &&;

    /// Extends the lease to `ttl` from now (10 ms to 24 h; without one, its current ttl), and uses
    /// that ttl for later renewals. An engine never shortens a lease: a smaller ttl applies when
    /// the current time runs out. Never extends beyond max_hold. For a lease without automatic
    /// renewal, or before a step that must not be cut short: then check remaining().
    /// Blocks: one trip. Errors: lease_lost (it was no longer held), outcome_unknown and
    /// unavailable (it is valid as long as remaining() says; retry), invalid_argument.
    /// Thread safety: not while another thread uses this handle.
    [[nodiscard]] result<void> renew();
    [[nodiscard]] result<void> renew(duration ttl);

    /// Turns an exclusive lease into a shared one without releasing it: waiting readers are
    /// admitted at once, and no writer before them. The fence stays. May be repeated.
    /// Blocks: one trip. Errors: lease_lost (it was no longer held), outcome_unknown (it counts as
    /// shared here, but others may not be admitted: retry), unavailable (nothing has changed),
    /// unsupported, invalid_argument (a semaphore's).
    /// Thread safety: not while another thread uses this handle.
    [[nodiscard]] result<void> downgrade();

    /// Gives up the lease in this process without releasing it, for another process to adopt with
    /// client::adopt(): see lease_token.hpp. This handle holds nothing from now on, and nobody
    /// renews the lease until it is adopted: it lasts for what remaining() returned.
    /// Blocks: never. Errors: lease_lost (it was no longer held), invalid_argument.
    [[nodiscard]] result<lease_token> detach() &&;

    using release_completion = std::move_only_function<void(result<void>)>;

    /// As release(), without waiting. Calls `done` exactly once, before this returns or on a thread
    /// of the client: it must be short and must not throw. For Boost.Asio see asio.hpp.
    void release_async(release_completion done) &&;

private:
    friend class detail::lock_runtime;
    friend class recursive_lease;
    lease(std::shared_ptr<detail::lock_runtime> runtime,
          std::shared_ptr<detail::lease_state> state) noexcept;
    void abandon() noexcept;

    /// Whether there is something to release.
    [[nodiscard]] bool open() const noexcept { return runtime_ != nullptr; }

    std::shared_ptr<detail::lock_runtime> runtime_;  // null once it is released or moved from
    std::shared_ptr<detail::lease_state> state_;     // null if it was moved from
};

}  // namespace holdfast

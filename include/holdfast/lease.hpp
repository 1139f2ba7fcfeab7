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

/// What you hold: a name, for a time that is renewed while you live, with a fence.
///
/// A lease can end without you: the engine forgets it, the network is cut, the process is paused.
/// So it tells: `lost()` fires before anyone else can hold the name, and `held()` compares the
/// clock itself, so it is right even when no thread of ours could run. What neither can do is stop
/// a write that is already on its way: for that, send `fence()` along and let the resource refuse
/// an old one.
namespace holdfast {

namespace detail {
struct lease_state;
class lock_runtime;
}  // namespace detail

enum class lease_status : std::uint8_t {
    held,      ///< Ours.
    jeopardy,  ///< Ours, but the last renewal failed, or the engine's clock was set forward since;
               ///< it is retried until the deadline.
    lost,      ///< No longer ours, and not by our own will: see reason().
    released   ///< Given back.
};

enum class loss_reason : std::uint8_t {
    none,
    expired,   ///< Could not be renewed before its deadline (cut off, paused, engine away), or the
               ///< engine's clock was set forward (clock_step_policy::lose).
    missing,   ///< The engine says that it is not ours: deleted, or forgotten.
    evicted,   ///< Someone took it away with client::evict(): see loss_text().
    max_hold,  ///< Held for as long as `max_hold` allows.
    closed,    ///< The client was closed.
    forked     ///< This is a child of the process that holds it.
};

[[nodiscard]] std::string_view to_string(lease_status status) noexcept;
[[nodiscard]] std::string_view to_string(loss_reason reason) noexcept;

/// After release() a lease still tells its name, fence, mode and lost(), as they were: they belong
/// into logs. One that was moved from is empty: no name, fence 0, and a lost() that never fires.
///
/// Thread safety: const members may be called from any thread; it may be moved to another thread.
class [[nodiscard]] lease {
public:
    lease(lease&&) noexcept;
    /// Gives back what this one held, as the destructor does.
    lease& operator=(lease&&) noexcept;
    lease(const lease&) = delete;
    lease& operator=(const lease&) = delete;

    /// Hands an unreleased lease to the keeper, which releases it at once in the background. Does
    /// not throw and does not wait for the network.
    ~lease();

    [[nodiscard]] const lock_name& name() const noexcept;
    [[nodiscard]] fencing_token fence() const noexcept;
    /// How it is held: exclusively, shared, or by how many permits of how many.
    [[nodiscard]] lease_mode mode() const noexcept;

    /// Fires when the lease is lost (not when it is released). Callbacks run on threads that the
    /// client keeps for them, outside any lock of ours; they may use Holdfast. One that blocks
    /// delays the other callbacks of this lease, not those of another lease, unless 128 block at
    /// the same time. What a callback throws ends the process, as std::stop_callback has it.
    [[nodiscard]] std::stop_token lost() const;

    /// Is it ours at this moment? Costs a clock read, no trip.
    [[nodiscard]] bool held() const noexcept;

    /// How long it is ours if nothing more is heard from the engine. Zero when it is not ours.
    [[nodiscard]] duration remaining() const noexcept;

    [[nodiscard]] lease_status status() const noexcept;
    [[nodiscard]] loss_reason reason() const noexcept;

    /// The words of whoever took it away; empty unless the reason is `evicted`.
    [[nodiscard]] std::string loss_text() const;

    /// Gives it back and says how that went. In any case the lease is over here. One that was lost
    /// here but may not be over on the engine (`max_hold`, `expired`) is given back there in the
    /// background, and this answers lease_lost.
    /// Blocks: one trip. Errors: lease_lost (it was not ours any more: what was done under it may
    /// have met another holder), outcome_unknown (released in the background, or left to its ttl).
    [[nodiscard]] result<void> release() &&;

    /// Makes it run for `ttl` from now (10 ms to 24 h; without one, for the ttl it has), and from
    /// then on renewed for that. An engine never shortens a lease: a smaller ttl counts when the
    /// time it had runs out. Never for longer than max_hold allows. For a lease without automatic
    /// renewal, or before something that must not be cut short: then look at remaining().
    /// Blocks: one trip. Errors: lease_lost (it was not ours any more), outcome_unknown and
    /// unavailable (it is ours as long as remaining() says; ask again), invalid_argument.
    /// Thread safety: not while another thread uses this handle.
    [[nodiscard]] result<void> renew();
    [[nodiscard]] result<void> renew(duration ttl);

    /// Turns an exclusive lease into a shared one without letting go in between: readers that wait
    /// for it come in at once, and no writer before them. The fence stays. May be repeated.
    /// Blocks: one trip. Errors: lease_lost (it was not ours any more), outcome_unknown (it counts
    /// as shared here, but others may not be let in: ask again), unavailable (nothing has changed),
    /// unsupported, invalid_argument (a semaphore's).
    /// Thread safety: not while another thread uses this handle.
    [[nodiscard]] result<void> downgrade();

    /// Lets go of it here without giving it back, for another process to adopt with
    /// client::adopt(): see lease_token.hpp. This handle holds nothing from now on, and nobody
    /// renews the lease until it is adopted: it runs for what remaining() said.
    /// Blocks: never. Errors: lease_lost (it was not ours any more), invalid_argument.
    [[nodiscard]] result<lease_token> detach() &&;

    using release_completion = std::move_only_function<void(result<void>)>;

    /// The same without waiting. `done` is called exactly once, before this returns or on a thread
    /// of the client: it must be short and must not throw. For Boost.Asio see asio.hpp.
    void release_async(release_completion done) &&;

private:
    friend class detail::lock_runtime;
    friend class recursive_lease;
    lease(std::shared_ptr<detail::lock_runtime> runtime,
          std::shared_ptr<detail::lease_state> state) noexcept;
    void abandon() noexcept;

    /// Whether there is something to give back.
    [[nodiscard]] bool open() const noexcept { return runtime_ != nullptr; }

    std::shared_ptr<detail::lock_runtime> runtime_;  // null once it is released or moved from
    std::shared_ptr<detail::lease_state> state_;     // null if it was moved from
};

}  // namespace holdfast

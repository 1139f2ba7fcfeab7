// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client_statistics.hpp>
#include <holdfast/clock.hpp>
#include <holdfast/engine/command_engine.hpp>
#include <holdfast/engine/lease_store.hpp>
#include <holdfast/entropy.hpp>
#include <holdfast/error.hpp>
#include <holdfast/lease_set.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/observer.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/semaphore.hpp>
#include <holdfast/shared_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

/// A client of one engine: where everything starts.
///
/// Example:
///
///     auto hf = holdfast::open("memory:");  // or "redis://localhost:6379": the same code
///     if (!hf) return failed(hf.error());
///     auto held = hf->mutex("orders/42").acquire({.wait = 2s});
///     auto both = hf->acquire_all({"account/1", "account/2"}, {.wait = 2s});
namespace holdfast {

/// What to do when an engine's clock was set forward by more than the drift allowance: leases that
/// were not renewed since may end there early.
enum class clock_step_policy : std::uint8_t {
    jeopardy,  ///< They are in jeopardy and renewed at once: the engine knows which still exist.
    lose       ///< They are lost at once (`expired`), and released.
};

struct client_options {
    /// How long one request to the engine may take before its outcome is unknown. Short enough for
    /// several retries within the default ttl.
    duration request_timeout = std::chrono::seconds(3);

    /// How long close() and the destructor may take to release the leases that are still held.
    duration close_timeout = std::chrono::seconds(1);

    /// Above zero: open() compares this machine's time of day with the engine's, and refuses an
    /// engine that is further away than this. Only the fences of a server that lost its data depend
    /// on the time of day; 2 s is a good bound for machines that should have the same time.
    duration max_clock_offset = duration::zero();

    /// A renewal of any lease of this client on that server detects a step. Most steps are shorter
    /// than the rest of a lease, and the engine can tell within a round trip: so by default no
    /// lease is given up on suspicion. Either way the step is counted
    /// (client_statistics::clock_steps) and reported to the observer.
    clock_step_policy on_clock_step = clock_step_policy::jeopardy;

    /// Receives the events of this client's leases; none by default.
    lease_observer observer = {};

    /// How many events may wait for a slow observer; further ones are dropped and counted. Some
    /// hundred bytes each.
    std::size_t observer_queue = 4096;

    /// Time and randomness; the machine's own by default, others for tests. They must outlive the
    /// client.
    clock* time = &system_clock();
    entropy* chance = &system_entropy();
};

/// The engine's time of day against this machine's.
struct clock_comparison {
    duration offset;      ///< How far the engine is ahead; negative if it is behind.
    duration round_trip;  ///< The offset is accurate to half of it.
};

/// Thread safety: all members may be called from any thread.
class client {
public:
    /// A client on a store of your own; `open()` is the usual way. `commands` is the engine below
    /// the store, if it speaks Redis commands; traffic control needs it.
    client(std::shared_ptr<lease_store> store, const client_options& options,
           std::shared_ptr<command_engine> commands = nullptr);
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// As close(). Does nothing in a child of fork(), which holds nothing.
    ~client();

    /// Returns a mutex of that name; does no I/O.
    [[nodiscard]] holdfast::mutex mutex(std::string_view name, acquire_options defaults = {});

    /// The same, for a mutex that its holder may acquire again.
    [[nodiscard]] holdfast::recursive_mutex recursive_mutex(std::string_view name,
                                                            acquire_options defaults = {});

    /// The same, for a mutex with readers and writers.
    [[nodiscard]] holdfast::shared_mutex shared_mutex(std::string_view name,
                                                      acquire_options defaults = {});

    /// Returns a semaphore of that name with that many permits; does no I/O.
    [[nodiscard]] holdfast::semaphore semaphore(std::string_view name, std::uint32_t permits,
                                                acquire_options defaults = {});

    /// The most names in one call.
    static constexpr std::size_t max_names = 1000;

    /// Acquires all of these names or none. One trip when nobody else holds one of them; otherwise
    /// it waits for them in a fixed order, so that two callers that share names never deadlock,
    /// whatever order they pass. A duplicate name is refused.
    /// Errors: as mutex::acquire(), nothing is held then; lease_lost (one was lost during the wait
    /// for another); invalid_argument (no name, an invalid or duplicate one, more than max_names).
    /// Blocks: for at most `wait` over all of them, plus a moment to release what was acquired.
    [[nodiscard]] result<lease_set> acquire_all(std::span<const std::string_view> names,
                                                const acquire_options& options = {});
    [[nodiscard]] result<lease_set> acquire_all(std::initializer_list<std::string_view> names,
                                                const acquire_options& options = {});

    /// Acquires those of these names that are free, in one trip; each has its own outcome, in the
    /// order of the names. It never waits, whatever `wait` says: a caller that holds some and waits
    /// for others could deadlock. Of a duplicate name, one is busy.
    /// Errors, for each: as mutex::try_acquire(). More than max_names: invalid_argument for all.
    /// Blocks: one trip where the engine allows it.
    [[nodiscard]] std::vector<result<lease>> acquire_each(std::span<const std::string_view> names,
                                                          const acquire_options& options = {});
    [[nodiscard]] std::vector<result<lease>> acquire_each(
        std::initializer_list<std::string_view> names, const acquire_options& options = {});

    /// Adopts a lease that another process has detached, with its fence; from now on it is renewed
    /// and released here. It lasts for `ttl` from now, and `max_hold`, `renewal`, `drift` and
    /// `listener` apply as for an acquire; it never waits.
    /// Errors: lease_lost (it had expired, was evicted, or somebody adopted it before),
    /// invalid_argument, unsupported; unavailable, outcome_unknown: it is not held here, and a
    /// lease that may have been adopted is released in the background.
    /// Blocks: one trip.
    [[nodiscard]] result<lease> adopt(const lease_token& token,
                                      const acquire_options& options = {});

    [[nodiscard]] capabilities can() const noexcept;

    /// The engine as a command engine; null if it does not speak Redis commands.
    [[nodiscard]] const std::shared_ptr<command_engine>& commands() const noexcept {
        return commands_;
    }
    /// The source of randomness that it was opened with.
    [[nodiscard]] entropy& chance() const noexcept { return *chance_; }

    /// Returns the names that start with `prefix` and that anyone holds now.
    /// Errors: unsupported, unavailable, …
    /// Blocks: some trips, in small steps between which the engine serves others.
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix = "");

    /// Returns the holders of a name (and which of them is this client), since when, for how long,
    /// with which fence, and its waiters in order. Empty if it has neither. The answer is out of
    /// date when you read it: do not use it in place of a lock.
    /// Errors: invalid_argument (the name), unsupported, unavailable, …
    /// Blocks: two trips.
    [[nodiscard]] result<std::optional<lease_info>> inspect(std::string_view name);

    /// Evicts the holders of a name, other programs included, and hands it to the next waiter. For
    /// operators: the holder is not asked. Its lease is lost with the reason `evicted` and this
    /// text (1 to 200 bytes); it learns that at once if it listens, else at its next renewal, and
    /// keeps working until then. Returns the number of evicted holders.
    /// Errors: invalid_argument (the name, the reason), unsupported, unavailable; outcome_unknown:
    /// inspect() before you repeat it, or you may evict the next holder.
    /// Blocks: one trip.
    [[nodiscard]] result<std::uint32_t> evict(std::string_view name, std::string_view reason);

    /// Returns who was evicted from a name recently, and why. An engine forgets an eviction about
    /// when the lease would have ended, or a minute later.
    /// Errors: invalid_argument (the name), unsupported, unavailable, …
    /// Blocks: one trip.
    [[nodiscard]] result<std::vector<eviction_info>> evictions(std::string_view name);

    [[nodiscard]] client_statistics statistics() const;

    /// Errors: unsupported (the engine has no time of day), unavailable, …
    /// Blocks: one trip.
    [[nodiscard]] result<clock_comparison> compare_clocks();

    /// Releases all leases that are still held, and ends all waits with invalid_argument. Lease
    /// objects that still exist are lost, with the reason `closed`. When it returns, the engine has
    /// nothing of this client, whatever was in flight: no lease, no waiter. A call of another
    /// thread that the engine delays for longer than close_timeout releases what it gets before it
    /// returns. A second call does nothing.
    /// Errors: outcome_unknown (the engine did not answer in time: the detail says how many leases
    /// and waiters are left; they end after their ttl, and are counted in
    /// client_statistics::left_to_ttl).
    /// Blocks: at most close_timeout, and until the observer and callbacks of lost() have returned.
    result<void> close();

private:
    friend class holdfast::mutex;
    friend class holdfast::shared_mutex;
    friend class holdfast::semaphore;
    friend class lock_manager;
    std::shared_ptr<detail::lock_runtime> runtime_;
    std::shared_ptr<command_engine> commands_;
    entropy* chance_;
};

/// Opens an engine by its URL:
///
///     memory:                 in this process, a separate engine
///     memory:NAME             in this process, shared by all clients of the same NAME
///     sqlite:/path            in a file, for the processes of one machine (docs/guide/sqlite.md)
///     redis://host:6379/0     Redis (rediss:// with TLS, redis+unix:///path for a socket): options
///                             in redis.hpp; prefix= (default "lock:") precedes a name in its key
///     redis-sentinel://h,h,h/NAME, redis-cluster://h,h,h
///                             the master that these Sentinels watch, or a Cluster
///                             (redis_topology.hpp). quarantine= (default 30s, off for one server):
///                             how long a server grants nothing after a restart or a promotion; no
///                             ttl may be longer. replicas= (1 behind Sentinel, else 0) and
///                             replica_wait= (1s): how many replicas must confirm a grant or a
///                             renewal, and how soon
///
///     redlock://h,h,h,h,h     a quorum of Redis servers, redlocks:// with TLS; its options are in
///                             docs/guide/redlock.md
///
/// Errors: invalid_argument (unknown scheme or option; the detail names the nearest), unsupported
/// (an engine that this build leaves out); with max_clock_offset also unavailable and denied, since
/// it then asks the engine.
/// Blocks: does no I/O, except one trip with a max_clock_offset.
[[nodiscard]] result<client> open(std::string_view url, const client_options& options = {});

}  // namespace holdfast

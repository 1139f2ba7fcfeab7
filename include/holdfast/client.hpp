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
namespace holdfast {

/// What to do when an engine's clock was set forward by more than a holder allows for: leases that
/// were not renewed since may be over there before their time.
enum class clock_step_policy : std::uint8_t {
    jeopardy,  ///< They are in jeopardy and renewed at once: the engine knows which are left.
    lose       ///< They are lost at once (`expired`), and given back.
};

struct client_options {
    /// How long one request to the engine may take before its outcome is called unknown. Short
    /// enough to retry several times within the default ttl.
    duration request_timeout = std::chrono::seconds(3);

    /// How long close() and the destructor may take to give back what is still held.
    duration close_timeout = std::chrono::seconds(1);

    /// Above zero: open() compares this machine's time of day with the engine's, and refuses one
    /// that is further away than this. Nothing of ours rests on the time of day but the fences of a
    /// server that lost its data; 2 s is a good bound for machines that should have the same time.
    duration max_clock_offset = duration::zero();

    /// A step is noticed by a renewal, of any lease of this client on that server. Most steps are
    /// shorter than what is left of a lease, and the engine tells within a round trip: so nothing
    /// is given up for a suspicion, unless you say so. Either way the step is counted
    /// (client_statistics::clock_steps) and the observer hears of it.
    clock_step_policy on_clock_step = clock_step_policy::jeopardy;

    /// Who is told what happens to this client's leases; nobody unless you set it.
    lease_observer observer = {};

    /// How many events may wait for a slow observer before more are dropped (and counted). Some
    /// hundred bytes each.
    std::size_t observer_queue = 4096;

    /// Time and randomness; the machine's own unless you test with others. They must outlive the
    /// client.
    clock* time = &system_clock();
    entropy* chance = &system_entropy();
};

/// The engine's time of day against this machine's.
struct clock_comparison {
    duration offset;      ///< How far the engine is ahead; negative if it is behind.
    duration round_trip;  ///< The offset is right to half of it.
};

/// Thread safety: all members may be called from any thread.
class client {
public:
    /// On a store of your own making; `open()` is the usual way. `commands` is what the store
    /// stands on, if that speaks Redis commands; traffic control needs it.
    client(std::shared_ptr<lease_store> store, const client_options& options,
           std::shared_ptr<command_engine> commands = nullptr);
    client(client&&) noexcept;
    client& operator=(client&&) noexcept;
    client(const client&) = delete;
    client& operator=(const client&) = delete;

    /// As close(). In a child of fork() it does nothing: a child holds nothing.
    ~client();

    /// A mutex of that name; does no I/O.
    [[nodiscard]] holdfast::mutex mutex(std::string_view name, acquire_options defaults = {});

    /// The same for one that its holder may acquire again.
    [[nodiscard]] holdfast::recursive_mutex recursive_mutex(std::string_view name,
                                                            acquire_options defaults = {});

    /// The same for one that has readers and writers.
    [[nodiscard]] holdfast::shared_mutex shared_mutex(std::string_view name,
                                                      acquire_options defaults = {});

    /// A semaphore of that name and so many permits; does no I/O.
    [[nodiscard]] holdfast::semaphore semaphore(std::string_view name, std::uint32_t permits,
                                                acquire_options defaults = {});

    /// Most names that one call takes.
    static constexpr std::size_t max_names = 1000;

    /// All of these names or none. One trip when nobody else has one of them; otherwise it waits
    /// for them in an order of its own, so that two who want some of the same names never block
    /// each other, whatever order they name them in. A name that comes twice is refused.
    /// Errors: as mutex::acquire(), nothing is held then; lease_lost (one was lost while another
    /// was waited for); invalid_argument (no name, a bad one, one twice, more than max_names).
    /// Blocks: for at most `wait` over all of them, plus a moment to give back what was got.
    [[nodiscard]] result<lease_set> acquire_all(std::span<const std::string_view> names,
                                                const acquire_options& options = {});
    [[nodiscard]] result<lease_set> acquire_all(std::initializer_list<std::string_view> names,
                                                const acquire_options& options = {});

    /// As many of these names as are to be had at once, in one trip; each has its own outcome, in
    /// the order of the names. It never waits, whatever `wait` says: who holds some and waits for
    /// others could wait for ever. Of a name that comes twice, one is busy.
    /// Errors, for each: as mutex::try_acquire(). More than max_names: invalid_argument for all.
    /// Blocks: one trip where the engine allows it.
    [[nodiscard]] std::vector<result<lease>> acquire_each(std::span<const std::string_view> names,
                                                          const acquire_options& options = {});
    [[nodiscard]] std::vector<result<lease>> acquire_each(
        std::initializer_list<std::string_view> names, const acquire_options& options = {});

    /// Takes up a lease that another process has detached, with its fence; from now on it is
    /// renewed and released here. It runs for `ttl` from now, and `max_hold`, `renewal`, `drift`
    /// and `listener` count as for an acquire; it never waits.
    /// Errors: lease_lost (its time was over, it was taken away, or somebody adopted it before),
    /// invalid_argument, unsupported; unavailable, outcome_unknown: it is not held here, and what
    /// may have been adopted is given back in the background.
    /// Blocks: one trip.
    [[nodiscard]] result<lease> adopt(const lease_token& token,
                                      const acquire_options& options = {});

    [[nodiscard]] capabilities can() const noexcept;

    /// The engine as one that carries out Redis commands; null if it is not one.
    [[nodiscard]] const std::shared_ptr<command_engine>& commands() const noexcept {
        return commands_;
    }
    /// The randomness that it was opened with.
    [[nodiscard]] entropy& chance() const noexcept { return *chance_; }

    /// The names that start with `prefix` and are held now, by anyone.
    /// Errors: unsupported, unavailable, …
    /// Blocks: some trips; the engine is asked in small steps and goes on serving others.
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix = "");

    /// One name: who holds it (and whether that is this client), since when, for how long, with
    /// which fence, and who waits for it, in order. Nothing if it is neither held nor waited for.
    /// What it says is old when you read it: decide nothing by it that a lock should decide.
    /// Errors: invalid_argument (the name), unsupported, unavailable, …
    /// Blocks: two trips.
    [[nodiscard]] result<std::optional<lease_info>> inspect(std::string_view name);

    /// Takes a name from whoever holds it, also from another program, and hands it to the next in
    /// line. For operators: the holder is not asked. Its lease is lost for the reason `evicted`,
    /// with these words (1 to 200 bytes); it learns that at once if it listens, else at its next
    /// renewal, and works on until then. Answers how many held it.
    /// Errors: invalid_argument (the name, the reason), unsupported, unavailable; outcome_unknown:
    /// look with inspect() before you repeat it, or you may take it from the next holder.
    /// Blocks: one trip.
    [[nodiscard]] result<std::uint32_t> evict(std::string_view name, std::string_view reason);

    /// From whom a name was taken lately, and with which words; for whoever watches it. An engine
    /// forgets it about when the lease would have ended, or a minute later.
    /// Errors: invalid_argument (the name), unsupported, unavailable, …
    /// Blocks: one trip.
    [[nodiscard]] result<std::vector<eviction_info>> evictions(std::string_view name);

    [[nodiscard]] client_statistics statistics() const;

    /// Errors: unsupported (the engine tells no time), unavailable, …
    /// Blocks: one trip.
    [[nodiscard]] result<clock_comparison> compare_clocks();

    /// Gives back everything that is still held, and ends all waits with invalid_argument. Leases
    /// that are still in someone's hands are lost, with the reason `closed`. When it returns, the
    /// engine has nothing of this client any more, whatever was under way: not a lease, not a place
    /// in line. A call of another thread that the engine keeps waiting for longer than
    /// close_timeout gives back what it gets before it returns. A second call does nothing.
    /// Errors: outcome_unknown (the engine did not answer in time: the detail says how many leases
    /// and places were not given back; they end by their ttl, and are counted in
    /// client_statistics::left_to_ttl).
    /// Blocks: at most close_timeout, and for what the observer and callbacks of lost() still do.
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
///     memory:                 in this process, an engine of its own
///     memory:NAME             in this process, shared by all that open the same NAME
///     sqlite:/path            in a file, for the processes of one machine (docs/guide/sqlite.md)
///     redis://host:6379/0     Redis (rediss:// with TLS, redis+unix:///path for a socket): options
///                             in redis.hpp; prefix= (default "lock:") stands before a name's key
///     redis-sentinel://h,h,h/NAME, redis-cluster://h,h,h
///                             the master that these Sentinels watch, or a Cluster
///                             (redis_topology.hpp). quarantine= (default 30s, off for one server):
///                             for so long a server grants nothing after a restart or a promotion,
///                             and no ttl may be longer. replicas= and replica_wait= (0, 1s): how
///                             many replicas must confirm a grant or a renewal, and how soon
///
///     redlock://h,h,h,h,h     a quorum of Redis servers, redlocks:// with TLS; its options are in
///                             docs/guide/redlock.md
///
/// Errors: invalid_argument (unknown scheme or option; the detail says what was meant), unsupported
/// (an engine that this build leaves out); with max_clock_offset also unavailable and denied, since
/// it then asks the engine.
/// Blocks: does no I/O, unless there is a max_clock_offset: then one trip.
[[nodiscard]] result<client> open(std::string_view url, const client_options& options = {});

}  // namespace holdfast

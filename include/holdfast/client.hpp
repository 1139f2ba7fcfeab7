// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/command_engine.hpp>
#include <holdfast/entropy.hpp>
#include <holdfast/error.hpp>
#include <holdfast/lease_store.hpp>
#include <holdfast/mutex.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

/// A client of one engine: where everything starts.
namespace holdfast {

struct client_options {
    /// How long one request to the engine may take before its outcome is called unknown. Short
    /// enough to retry several times within the default ttl.
    duration request_timeout = std::chrono::seconds(3);

    /// How long close() and the destructor may take to give back what is still held.
    duration close_timeout = std::chrono::seconds(1);

    /// Time and randomness; the machine's own unless you test with others. They must outlive the
    /// client.
    clock* time = &system_clock();
    entropy* chance = &system_entropy();
};

/// What a client has seen since it was opened.
struct client_statistics {
    std::uint64_t acquired = 0;     ///< Leases granted to us.
    std::uint64_t waited = 0;       ///< … of these, after standing in line.
    std::uint64_t handed_over = 0;  ///< … of these, woken by a hand-over that already was ours.
    std::uint64_t passed_on = 0;    ///< … of these, passed on inside this client.
    std::uint64_t refused = 0;      ///< Acquires that ended busy, timed out or cancelled.
    std::uint64_t failed = 0;       ///< Acquires that ended with the engine's trouble.
    std::uint64_t released = 0;     ///< Given back by release() or a destructor.
    std::uint64_t renewed = 0;      ///< Renewals that succeeded.
    std::uint64_t renewal_failures = 0;      ///< Renewals that did not (each is retried).
    std::uint64_t lost = 0;                  ///< Leases lost, for whatever reason.
    std::uint64_t held = 0;                  ///< Held now.
    std::uint64_t waiting = 0;               ///< Waiting now.
    duration least_slack = duration::max();  ///< The closest a renewal came to its deadline.
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

    [[nodiscard]] capabilities can() const noexcept;

    /// The engine as one that carries out Redis commands; null if it is not one.
    [[nodiscard]] const std::shared_ptr<command_engine>& commands() const noexcept {
        return commands_;
    }
    /// The randomness that it was opened with.
    [[nodiscard]] entropy& chance() const noexcept { return *chance_; }

    /// The names that start with `prefix` and are held now, by anyone.
    /// Errors: unsupported, unavailable, …
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix = "");

    [[nodiscard]] client_statistics statistics() const;

    /// Gives back everything that is still held, and ends all waits with invalid_argument. Leases
    /// that are still in someone's hands are lost, with the reason `closed`.
    /// Blocks: at most close_timeout.
    void close();

private:
    friend class holdfast::mutex;
    std::shared_ptr<detail::lock_runtime> runtime_;
    std::shared_ptr<command_engine> commands_;
    entropy* chance_;
};

/// Opens an engine by its URL:
///
///     memory:                 in this process, an engine of its own
///     memory:NAME             in this process, shared by all that open the same NAME
///     redis://host:6379/0     Redis (rediss:// with TLS, redis+unix:///path for a socket); the
///                             client's options are in redis.hpp, and prefix= (default "lock:") is
///                             what stands before a name in its key
///     redis-sentinel://h,h,h/NAME
///                             the master that these Sentinels watch (redis_topology.hpp); see its
///                             limits: replication is asynchronous
///
/// Errors: invalid_argument (unknown scheme or option; the detail says what was meant), unsupported
/// (an engine that this build leaves out), unavailable, denied.
[[nodiscard]] result<client> open(std::string_view url, const client_options& options = {});

}  // namespace holdfast

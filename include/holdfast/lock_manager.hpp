// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/client.hpp>
#include <holdfast/mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

/// Locks by key, for programs that know a key but cannot keep a lease object.
///
/// The manager keeps the lease; any thread may release it by its key. Where you can, keep a `lease`
/// instead: no other thread can release it by mistake.
///
/// Example:
///
///     holdfast::lock_manager locks(hf, {.lock = {.ttl = 10s, .wait = 2s}});
///     auto fit = locks.configure("reports", {.lock = {.ttl = 5min, .max_hold = 1h}});
///     if (auto held = locks.acquire("orders/42")) {
///         save(order, held->fence);
///         auto done = locks.release("orders/42");
///     }
namespace holdfast {

/// How one key is locked.
struct managed_options {
    /// ttl, wait, max_hold and the other options of one acquire.
    acquire_options lock = {};

    /// How often to retry an acquire that ended busy, timed_out or unavailable. With a `wait` of
    /// zero this polls instead of waiting in the queue. At most 1000.
    std::uint32_t retries = 0;

    /// How long to pause before each retry. 1 ms to 1 h.
    duration retry_pause = std::chrono::milliseconds(200);
};

/// An acquired key, for the work that it protects.
struct managed_hold {
    fencing_token fence;
    std::stop_token lost;  ///< As lease::lost().
};

/// Thread safety: all members may be called from any thread.
class lock_manager {
public:
    /// Most keys that are configured, held, or out as a mutex at once.
    static constexpr std::size_t max_keys = 100'000;

    /// Does no I/O. `defaults` apply to every key without options of its own; the first call
    /// reports invalid ones. The client may be closed first: calls then return invalid_argument.
    explicit lock_manager(client& owner, managed_options defaults = {});
    lock_manager(const lock_manager&) = delete;
    lock_manager& operator=(const lock_manager&) = delete;

    /// Releases all keys that are still held, in the background.
    ~lock_manager();

    /// Sets the options of a key, from its next acquire on.
    /// Errors: invalid_argument (a bad key or option), busy (max_keys are configured).
    [[nodiscard]] result<void> configure(std::string_view key, managed_options options);

    /// Returns the mutex of a key, with the key's options as defaults: made by the first call, the
    /// same object as long as somebody has it. Leases that you acquire with it are your own.
    /// Errors: invalid_argument (a bad key; closed), busy (max_keys are in use).
    [[nodiscard]] result<std::shared_ptr<mutex>> get(std::string_view key);

    /// Acquires the key with its options, and keeps the lease. The manager is one holder among
    /// others: while it holds the key, another acquire of the key waits for the release.
    /// Errors: as mutex::acquire(); invalid_argument or cancelled if the manager is closed
    /// meanwhile; busy, if it holds max_keys.
    /// Blocks: for `wait`, (retries + 1) times, and the pauses. Cancellation: by the stop token of
    /// the options.
    [[nodiscard]] result<managed_hold> acquire(std::string_view key);

    /// Errors: invalid_argument (this manager does not hold it), else as lease::release().
    /// Blocks: one trip.
    [[nodiscard]] result<void> release(std::string_view key);

    /// Returns whether this manager holds the key now. No trip.
    [[nodiscard]] bool held(std::string_view key) const;

    /// Returns how long it stays held without another renewal. Zero if it is not held.
    [[nodiscard]] duration remaining(std::string_view key) const;

    /// Returns the keys that it holds, sorted.
    [[nodiscard]] std::vector<std::string> keys() const;

    /// Releases all keys, and acquires no more: acquires that wait end with `cancelled`.
    /// Errors: of the first release that failed. Blocks: one trip where the engine allows it.
    [[nodiscard]] result<void> close();

private:
    struct inside;
    const std::unique_ptr<inside> inside_;
};

}  // namespace holdfast

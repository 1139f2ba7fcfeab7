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

/// Locks by key, for programs that know a key and have no place to keep a lease.
///
///     holdfast::lock_manager locks(hf, {.lock = {.ttl = 10s, .wait = 2s}});
///     auto fit = locks.configure("reports", {.lock = {.ttl = 5min, .max_hold = 1h}});
///     if (auto held = locks.acquire("orders/42")) {
///         save(order, held->fence);
///         auto said = locks.release("orders/42");
///     }
///
/// The manager keeps the lease; any thread may release it by its key. Where you can, hold a `lease`
/// of your own instead: it cannot be released by somebody else's mistake.
namespace holdfast {

/// How one key is locked.
struct managed_options {
    /// ttl, wait, max_hold and all the rest of one acquire.
    acquire_options lock = {};

    /// How often an acquire that ended busy, timed_out or unavailable is tried again. With a `wait`
    /// of zero this is asking now and then instead of standing in line. At most 1000.
    std::uint32_t retries = 0;

    /// How long to rest before each of them. 1 ms to 1 h.
    duration retry_pause = std::chrono::milliseconds(200);
};

/// What was acquired, for the work that it protects.
struct managed_hold {
    fencing_token fence;
    std::stop_token lost;  ///< As lease::lost().
};

/// Thread safety: all members may be called from any thread.
class lock_manager {
public:
    /// Most keys that are configured, held, or out as a mutex at once.
    static constexpr std::size_t max_keys = 100'000;

    /// Does no I/O. `defaults` are for every key that has no options of its own; bad ones are told
    /// by the first call. The client may be closed first: calls then answer invalid_argument.
    explicit lock_manager(client& owner, managed_options defaults = {});
    lock_manager(const lock_manager&) = delete;
    lock_manager& operator=(const lock_manager&) = delete;

    /// What is still held is released in the background.
    ~lock_manager();

    /// Gives a key options of its own, from its next acquire on.
    /// Errors: invalid_argument (a bad key or option), busy (max_keys are configured).
    [[nodiscard]] result<void> configure(std::string_view key, managed_options options);

    /// The mutex of a key, with its options as defaults: made when it is asked for first, the same
    /// one as long as somebody has it. Leases that you acquire by it are your own.
    /// Errors: invalid_argument (a bad key; closed), busy (max_keys are in use).
    [[nodiscard]] result<std::shared_ptr<mutex>> get(std::string_view key);

    /// Acquires the key as its options say, and keeps the lease. The manager is one holder among
    /// others: while it holds the key, another acquire of it waits for the release like anybody.
    /// Errors: as mutex::acquire(); invalid_argument or cancelled if the manager is closed
    /// meanwhile; busy, if it holds max_keys.
    /// Blocks: for `wait`, (retries + 1) times, and the pauses. Cancellation: by the stop token of
    /// the options.
    [[nodiscard]] result<managed_hold> acquire(std::string_view key);

    /// Errors: invalid_argument (this manager does not hold it), else as lease::release().
    /// Blocks: one trip.
    [[nodiscard]] result<void> release(std::string_view key);

    /// Does this manager hold it at this moment? No trip.
    [[nodiscard]] bool held(std::string_view key) const;

    /// How long, if nothing more is heard. Zero if it does not.
    [[nodiscard]] duration remaining(std::string_view key) const;

    /// The keys that it holds, in their order.
    [[nodiscard]] std::vector<std::string> keys() const;

    /// Releases all it holds, and takes no more: acquires that wait end with `cancelled`.
    /// Errors: of the first release that failed. Blocks: one trip where the engine allows it.
    [[nodiscard]] result<void> close();

private:
    struct inside;
    const std::unique_ptr<inside> inside_;
};

}  // namespace holdfast

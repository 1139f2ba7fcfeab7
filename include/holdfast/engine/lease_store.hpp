// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/engine/lease_request.hpp>
#include <holdfast/engine/push_wait.hpp>
#include <holdfast/lease_info.hpp>
#include <holdfast/lease_mode.hpp>
#include <holdfast/lease_token.hpp>
#include <holdfast/names.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// The lease seam: carries out lease requests. Every engine implements it.
///
/// Requests and replies are values. A request contains everything it needs and is idempotent by
/// (name, owner), so a retry after a lost reply is safe; a batch is a span; a quorum is a store
/// made of stores; and a simulator can lose, delay and repeat the same values.
namespace holdfast {

/// Pushed by the engine: the lease was handed to this waiter, at some moment after the waiter's
/// last answered poll, for `ttl` from that moment. A `ttl` of zero: nothing is held yet, poll now.
struct handed_off {
    owner_token owner;
    fencing_token fence;
    duration ttl;
};

/// Pushed by the engine: this owner was evicted (see evict()). If the push is missed, the next
/// renewal returns the same.
struct evicted {
    owner_token owner;
    std::string reason;
};

/// Pushed by the engine: a push may have been missed, so every waiter should poll now.
struct poll_again {};

using lease_push = std::variant<handed_off, poll_again, evicted>;

/// What an engine can do, known before the call.
struct capabilities {
    bool shared = false;   ///< Shared mode.
    bool permits = false;  ///< Permits k of n …
    bool resize = false;   ///< … and resize() changes n for all.
    bool fencing = false;  ///< Grants carry a fence that strictly increases.
    bool fair = false;     ///< First come, first served.
    bool pushes = false;   ///< A release wakes the next waiter; otherwise waiters poll.
    bool listing = false;  ///< list() works.
    /// A holder that has waited for something before is notified at once if it is evicted;
    /// otherwise it learns it at its next renewal.
    bool eviction_pushes = false;
};

/// Thread safety: all members may be called from any thread.
class lease_store {
public:
    using push_handler = std::function<void(const lease_push&)>;
    using reply_handler = std::function<void(std::size_t index, result<lease_reply>)>;

    virtual ~lease_store() = default;

    [[nodiscard]] virtual capabilities can() const noexcept = 0;

    /// Carries out each request; one trip where the engine allows it; each has its own outcome.
    /// Requests about one name in one call are carried out in no particular order.
    /// Blocks: until all are answered, at most until `give_up`.
    /// Requires: replies.size() == requests.size().
    virtual void exchange(std::span<const lease_request> requests,
                          std::span<result<lease_reply>> replies, time_point give_up) = 0;

    /// The same without waiting. Calls `on_reply` once for each request, as its answer comes: a
    /// silent shard does not delay another. It may be called before this returns, must
    /// be short, and is called on the engine's thread or this one.
    virtual void submit(std::vector<lease_request> requests, time_point give_up,
                        reply_handler on_reply);

    /// Sets the handler of pushes; once, before the first request. Called on the engine's thread.
    virtual void on_push(push_handler handler) = 0;

    /// As command_engine::hear_pushes(), for a thread that waits for the push of its grant.
    [[nodiscard]] virtual bool hear_pushes(const push_wait& wait);

    /// Waits until all submitted requests are answered, at most until `until`: a client closes.
    virtual void settle(time_point until);

    /// The engine's time of day. Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<wall_time> time_of_day(time_point give_up);

    /// Sets the client's label, for listings; once, before the first request. The store may write
    /// it when it first has to. `id` is in each of this client's owners.
    virtual void introduce(const client_id& id, const client_label& who);

    /// Returns the names that start with `prefix` and are held now, sorted.
    [[nodiscard]] virtual result<std::vector<lease_info>> list(std::string_view prefix,
                                                               time_point give_up) = 0;

    /// Returns one name with its holders and its whole queue; empty if it has neither.
    /// Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<std::optional<lease_info>> inspect(const lock_name& name,
                                                                    time_point give_up);

    /// Changes the number of permits for all clients, until nobody has used the name for a week.
    /// Nobody loses any; additional permits go to the waiters at once.
    /// Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<void> resize(const lock_name& name, std::uint32_t permits,
                                              time_point give_up);

    /// Evicts the holders of the name and hands it to the next waiter. They learn the reason at
    /// their next renewal at the latest; until then they treat their leases as valid, and only
    /// their fences stop them. Returns the number of evicted holders. Not to be repeated when the
    /// outcome is unknown: it would evict the next holder.
    /// Requires: fit_reason(reason).
    /// Errors: unsupported, unavailable, outcome_unknown, …
    [[nodiscard]] virtual result<std::uint32_t> evict(const lock_name& name,
                                                      std::string_view reason, time_point give_up);

    /// Moves the lease of `from` to `to` in one step, with the same fence; it lasts for `ttl` from
    /// now, and is never shortened. Idempotent by both owners. Returns `renewed`, or `lost` if
    /// neither holds it.
    /// Errors: unsupported, unavailable, outcome_unknown, …
    [[nodiscard]] virtual result<lease_reply> adopt(const lease_adoption& asked,
                                                    time_point give_up);

    /// Returns the evicted holders that may not have learned of it yet: they are kept for about as
    /// long as their leases would have lasted, on some engines a minute more.
    /// Errors: unsupported, unavailable, …
    [[nodiscard]] virtual result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                                       time_point give_up);
};

}  // namespace holdfast

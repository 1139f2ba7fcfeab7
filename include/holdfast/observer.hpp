// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>
#include <holdfast/lease.hpp>
#include <holdfast/names.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

/// Callbacks for the events of a client's leases: for logs, metrics and alarms.
///
///     auto hf = holdfast::open(url, {.observer = {.lost = [](const holdfast::lost_event& e) {
///         log("lost {}: {}", e.name.value(), to_string(e.reason));
///     }}});
///
/// Set the callbacks that you need; unset ones cost nothing. All run on one thread that the client
/// keeps for its observer, in order for each lease, outside every lock of ours: an observer may use
/// Holdfast, and its exceptions are dropped. Events are reported after the fact. To stop working,
/// use the lease's own lost(), which never waits for an observer.
///
/// Bounded: `observer_queue` events may wait for a slow observer; further ones are dropped and
/// counted in client_statistics::observations_dropped. The locks never wait for it.
namespace holdfast {

/// How a lease was granted.
enum class grant_path : std::uint8_t {
    at_once,     ///< Nobody else held it.
    polled,      ///< Waited, and found it free by a poll.
    handed_off,  ///< Waited, and the release before handed it off.
    passed_on,   ///< Waited behind another of this client, which passed it on.
    adopted      ///< Came from another process, by client::adopt().
};

[[nodiscard]] std::string_view to_string(grant_path path) noexcept;

struct acquired_event {
    lock_name name;
    fencing_token fence;
    duration waited;  ///< From the call to the grant.
    grant_path path;
};

/// An acquire that ended without a lease.
struct refused_event {
    lock_name name;
    error why;
    duration waited;
};

/// Released by release() or a destructor, or detached.
struct released_event {
    lock_name name;
    fencing_token fence;
    duration held;
};

struct renewed_event {
    lock_name name;
    fencing_token fence;
    duration slack;  ///< How long before its deadline the renewal came.
};

/// The first renewal that failed, or the engine's clock was set forward; renewals are retried until
/// the deadline.
struct jeopardy_event {
    lock_name name;
    fencing_token fence;
    duration left;  ///< Until the lease is lost, if no renewal succeeds.
    error why;
};

struct lost_event {
    lock_name name;
    fencing_token fence;
    loss_reason reason;
    std::string text;  ///< The operator's reason, if it was `evicted`.
};

/// A renewal found that the engine's clock was set, compared with ours.
struct clock_step_event {
    duration by;  ///< Forward, or (negative) back.
};

/// For a client, or as `acquire_options::listener` for the leases of one acquire.
struct lease_observer {
    std::function<void(const acquired_event&)> acquired = {};
    std::function<void(const refused_event&)> refused = {};
    std::function<void(const released_event&)> released = {};
    std::function<void(const renewed_event&)> renewed = {};
    std::function<void(const jeopardy_event&)> jeopardy = {};
    std::function<void(const lost_event&)> lost = {};
    std::function<void(const clock_step_event&)> clock_stepped = {};
};

/// For `acquire_options::listener`.
[[nodiscard]] inline std::shared_ptr<const lease_observer> listen(lease_observer to) {
    return std::make_shared<const lease_observer>(std::move(to));
}

}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_options.hpp"
#include "runtime/pending.hpp"

#include <holdfast/clock.hpp>
#include <holdfast/error.hpp>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

struct _zhandle;

/// One session of a ZooKeeper ensemble: requests, watches, and the nodes that live as long as it.
///
/// Requests of a session are carried out in the order in which they were sent, over whichever
/// server it is connected to at the time. So a request whose answer was lost with its connection is
/// resolved by a read that is sent later: what the read does not see did not happen, and never
/// will. That is why call() may repeat one, and why there is no need for a mark on the server.
///
/// The client library pings the servers by itself. A session that it hears to be expired is over
/// for good, with all its nodes.
///
/// Thread safety: all members may be called from any thread. Answers and watches come on a thread
/// of the library, which must not be blocked.
namespace holdfast::zookeeper {

using detail::pending;

/// How a request ended.
enum class outcome : std::uint8_t {
    done,
    no_node,
    exists,
    not_empty,
    no_connection,  ///< It was lost with the connection: perhaps carried out.
    timed_out,      ///< No answer by the time it was given: perhaps carried out.
    not_sent,       ///< There was no connection in the time it was given.
    session_over,   ///< The session is expired or closed: what it made is gone.
    denied,
    login_refused,
    unsupported,
    failed,
};

struct node_stat {
    std::uint64_t made = 0;    ///< czxid: the number of the transaction that made the node.
    std::int64_t session = 0;  ///< Whose node it is; 0: it stays.
};

struct answered {
    outcome is = outcome::not_sent;
    std::string text = {};                ///< Data, or the path of a node that was made.
    std::vector<std::string> names = {};  ///< Children.
    node_stat stat = {};
    std::string why = {};  ///< In the library's words, for outcomes that are errors.
    bool doubt = false;    ///< An earlier attempt may have been carried out.
};

enum class node_kind : std::uint8_t { persistent, container, ephemeral, ephemeral_sequential };

/// One change of a multi-request, which is carried out whole or not at all.
struct node_change {
    enum class kind : std::uint8_t { make, remove };
    kind what = kind::make;
    std::string path;
    std::string data = {};
    node_kind as = node_kind::ephemeral;
};

struct request {
    enum class kind : std::uint8_t { make, remove, write, get, children, sync, several };
    kind what = kind::get;
    std::string path;
    std::string data = {};
    node_kind as = node_kind::persistent;
    std::uintptr_t watch = 0;  ///< For get and children; 0: none. See watch().
    std::vector<node_change> changes = {};
};

/// Whether a request is made again when it was lost with the connection.
enum class if_lost : std::uint8_t { repeat, stop };

enum class session_event : std::uint8_t { connected, suspended, over };

class zookeeper_session : public std::enable_shared_from_this<zookeeper_session> {
public:
    using watch_handler = std::function<void()>;
    using event_handler =
        std::function<void(const std::shared_ptr<zookeeper_session>&, session_event)>;

    /// Begins to connect. `timeout` is what is asked for: see timeout(). `on_event` is called on
    /// the library's thread.
    /// Blocks: until the servers' names are resolved.
    /// Errors: unavailable (a name that cannot be resolved).
    [[nodiscard]] static result<std::shared_ptr<zookeeper_session>> open(
        const zookeeper_options& options, duration timeout, clock& time, event_handler on_event);
    ~zookeeper_session();
    zookeeper_session(const zookeeper_session&) = delete;
    zookeeper_session& operator=(const zookeeper_session&) = delete;

    /// Sends it now, once.
    [[nodiscard]] pending<answered> send(request asked, time_point give_up);
    /// Waits for a connection, sends it, and sends it again if the connection was lost, unless told
    /// not to.
    [[nodiscard]] static pending<answered> call(std::shared_ptr<zookeeper_session> self,
                                                request asked, time_point give_up,
                                                if_lost then = if_lost::repeat);
    /// Whether there is a connection, by `give_up` at the latest.
    [[nodiscard]] pending<bool> connected(time_point give_up);

    /// Why there is none.
    [[nodiscard]] answered no_connection() const;

    /// A number for request::watch. `handler` is called once, for whatever happens to the node.
    [[nodiscard]] std::uintptr_t watch(watch_handler handler);
    void unwatch(std::uintptr_t id);

    [[nodiscard]] std::int64_t id() const;
    [[nodiscard]] bool is_over() const noexcept { return over_.load(); }
    /// As the servers granted it; known after the first connection.
    [[nodiscard]] duration timeout() const;
    [[nodiscard]] duration asked_timeout() const noexcept { return asked_timeout_; }
    /// How long a lease may last from when a request was sent that the leader has answered.
    ///
    /// That the leader answered a request does not mean that it counts from there. A server that
    /// clients are connected to tells it every half tick of those it heard from since it last told.
    /// If that server fails just then, what it heard in the last half tick is not told; and before
    /// that the library may have been silent for a third of the timeout, when it pings. Together
    /// this is half of the timeout at most, for a session of two ticks or more.
    [[nodiscard]] duration safe_time() const { return safe_part(timeout()); }
    [[nodiscard]] static constexpr duration safe_part(duration timeout) { return timeout / 2; }

    /// Answers requests that are overdue with `timed_out`. Returns when to call it again.
    time_point expire_overdue(time_point now);
    /// Called with the deadline of each request that waits for an answer. Set it before the first.
    void on_deadline(std::function<void(time_point)> handler) { on_deadline_ = std::move(handler); }

    /// Ends the session, and with it its nodes. Blocks: for the library's threads.
    void close();

private:
    struct flight {
        pending<answered> answer;
        time_point give_up;
    };
    struct waiting {
        pending<bool> answer;
        time_point give_up;
    };
    struct in_library;  // what is handed through the library's callbacks
    friend struct library_calls;

    zookeeper_session(duration asked, clock& time, event_handler on_event);
    void hear_state(int state);
    void hear_watch(std::uintptr_t id);
    void land(std::uint64_t number);

    clock& clock_;
    const duration asked_timeout_;
    const event_handler on_event_;
    std::function<void(time_point)> on_deadline_;
    std::atomic<bool> over_ = false;
    std::atomic<bool> login_refused_ = false;
    _zhandle* handle_ = nullptr;
    bool open_acl_ = true;

    mutable std::mutex mutex_;
    std::unordered_map<std::uint64_t, flight> in_flight_;
    std::uint64_t next_flight_ = 1;
    std::vector<waiting> waiting_;
    std::unordered_map<std::uintptr_t, watch_handler> watches_;
    std::uintptr_t next_watch_ = 1;
};

}  // namespace holdfast::zookeeper

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_session.hpp"

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

/// The sessions of one client, and the thread that looks after what is overdue.
///
/// A session of ZooKeeper has one timeout for all its nodes, but leases have ttls of their own. So
/// there is a session for each of a few timeouts, made when it is first needed: a lease is kept by
/// the one with the shortest that is enough. While the client lives, it removes the nodes of leases
/// that nobody renewed itself, at the end of their ttl; the timeout is for one that died.
///
/// Thread safety: all members may be called from any thread.
namespace holdfast::zookeeper {

class zookeeper_client {
public:
    using session_ptr = std::shared_ptr<zookeeper_session>;
    /// Does what is due, and returns when it wants to be called next.
    using upkeep_handler = std::function<time_point(time_point now)>;

    zookeeper_client(zookeeper_options options, clock& time);
    ~zookeeper_client();
    zookeeper_client(const zookeeper_client&) = delete;
    zookeeper_client& operator=(const zookeeper_client&) = delete;

    /// Set both before the first session. Called on a thread of the client and of the library.
    void on_upkeep(upkeep_handler handler) { upkeep_ = std::move(handler); }
    void on_event(zookeeper_session::event_handler handler) { events_ = std::move(handler); }

    /// The session that keeps leases of this ttl.
    /// Errors: unavailable (a server's name that cannot be resolved, the client is closed).
    [[nodiscard]] result<session_ptr> session_for(duration ttl);

    /// Any session, for reads.
    [[nodiscard]] result<session_ptr> some_session();

    /// The timeout that is asked for, for leases of this ttl.
    [[nodiscard]] static duration timeout_for(duration ttl);

    /// Upkeep is wanted at `when`, if not before.
    void wake_at(time_point when);

    /// Ends the sessions, and with them all their nodes.
    void close();

    [[nodiscard]] const zookeeper_options& options() const noexcept { return options_; }
    [[nodiscard]] const std::string& servers() const noexcept { return servers_; }
    [[nodiscard]] clock& time() const noexcept { return clock_; }

private:
    void run();
    void hear(const session_ptr& from, session_event event);

    const zookeeper_options options_;
    const std::string servers_;
    clock& clock_;
    upkeep_handler upkeep_;
    zookeeper_session::event_handler events_;

    std::mutex opening_;
    std::mutex mutex_;
    std::condition_variable woken_;
    std::map<duration, session_ptr> sessions_;  ///< By the timeout asked for.
    std::vector<session_ptr> ended_;            ///< Over, but not closed yet.
    time_point next_ = time_point::max();
    bool closed_ = false;
    std::thread thread_;
};

}  // namespace holdfast::zookeeper

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lease/sessions/session_connection.hpp"
#include "lease/tables/submit_thread.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <cstddef>
#include <memory>
#include <string>

/// Leases that are locks of database sessions: PostgreSQL's advisory locks, MySQL's GET_LOCK.
///
/// Each lease has a connection of its own, whose session holds the lock, from the moment that it is
/// wanted until it is released. A waiter waits on the server, on a thread of its own; a release
/// wakes it. A thread watches the connections of all holders: one that is lost is told at once, as
/// an eviction, because the server has dropped the lock. It also asks each server now and then
/// whether it is there, so that nothing between ends an idle connection.
///
/// A lease that is not renewed ends here by closing its connection, because the server knows no
/// ttl. If this process cannot reach the server, the server keeps the lock until it notices that
/// the connection is gone.
///
/// There is no fence, no shared mode, no permits, no listing and no promise of an order.
namespace holdfast::session {

struct session_options {
    /// So many leases are held or waited for at a time, each on a connection of its own.
    std::size_t connections = 16;
    std::string label{};  ///< What errors call the database.
};

class session_lease_store final : public lease_store {
public:
    /// `time` outlives it.
    session_lease_store(connection_maker make, session_options options, clock& time);
    session_lease_store(const session_lease_store&) = delete;
    session_lease_store& operator=(const session_lease_store&) = delete;
    /// Closes all connections, and with them ends all leases.
    ~session_lease_store() override;

    [[nodiscard]] capabilities can() const noexcept override;
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override;
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;

private:
    class desk;
    [[nodiscard]] bool is_child() const noexcept;
    [[nodiscard]] result<lease_reply> serve(const lease_request& request, time_point give_up);

    std::shared_ptr<desk> desk_;
    const unsigned generation_;
    sql::submit_thread lane_;  // the last, because it uses the others until its end
};

}  // namespace holdfast::session

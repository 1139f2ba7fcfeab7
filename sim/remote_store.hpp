// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "node.hpp"

#include "lease/commands/contention_memory.hpp"
#include "lease/commands/known_servers.hpp"
#include "lease/commands/lease_request_machine.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// Leases on a simulated server, as one program sees them (whichever is the master, or always the
/// same one, of a quorum): the requests, the commands and what the
/// replies mean are the library's; the connections are simulated.
///
/// It behaves as the Redis client does: a command waits for its connection; the first thing on a
/// connection raises the fences; a script that the server does not know is sent whole; what may be
/// repeated is sent again on the next connection; what was sent and not answered is unknown. Grants
/// are heard on a connection of their own.
namespace holdfast::sim {

class world;
class process;

class remote_store final : public lease_store {
public:
    /// Without a node: whichever is the master.
    remote_store(world& around, process& host, const command_lease_options& options,
                 std::optional<unsigned> node = {});

    [[nodiscard]] capabilities can() const noexcept override;
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override { handler_ = std::move(handler); }
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;

    /// The connection for commands ends; what was sent on it is unknown.
    void reset();
    /// The connection for messages ends.
    void deafen();
    /// Both, because their server is gone.
    void server_gone(unsigned node);

    [[nodiscard]] std::size_t under_way() const noexcept { return open_.size(); }

private:
    struct conversation;
    using talk = std::shared_ptr<conversation>;

    void next_trip(const talk& one);
    void dispatch(const talk& one);
    void hear_replies(const talk& one, unsigned trip, std::vector<reply> replies);
    void fail_trip(const talk& one, errc code, const std::string& why);
    [[nodiscard]] bool outlasted(lease_request_machine& said);
    void finish_trip(const talk& one, std::span<result<reply>> replies);
    void confirm(const talk& one, result<lease_reply> meant);
    void answer(const talk& one, result<lease_reply> reply);
    void time_is_up(const talk& one);
    void connect();
    void connected(unsigned epoch, bool welcome, const reply& time, time_point asked);
    void fail_waiting();
    [[nodiscard]] unsigned server() const;
    void subscribe();
    void subscribed(unsigned epoch);
    void hear_grant(unsigned epoch, const std::string& text);

    struct line {
        unsigned epoch = 0;
        unsigned node = 0;
        unsigned incarnation = 0;
        bool open = false;
        bool opening = false;
    };

    world& world_;
    process& host_;
    const command_lease_options options_;
    const std::optional<unsigned> only_node_;
    const std::string channel_;
    contention_memory contended_;
    known_servers servers_;
    push_handler handler_;
    line commands_;
    line ear_;
    bool heard_before_ = false;
    std::vector<talk> open_;
    std::deque<talk> waiting_;  ///< For a connection.
};

}  // namespace holdfast::sim

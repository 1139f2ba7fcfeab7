// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/owned_command.hpp"
#include "driver/redis/background.hpp"
#include "driver/redis/cluster_nodes.hpp"
#include "driver/redis/shard_channels.hpp"

#include <holdfast/redis/redis_topology.hpp>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

/// What the engine of a cluster does: it finds the node of each command, and follows where the
/// nodes point.
///
/// The rules are in judge(), and are the same for a thread that waits and for a submitted command:
///
/// - MOVED and ASK have done nothing: the command goes where they say, five times at most.
/// - TRYAGAIN and CLUSTERDOWN have done nothing: again after a pause, a few times.
/// - A command that was not sent, since its node cannot be reached, is sent again if the map,
///   read anew, names another node. Else the caller is told at once.
/// - A command that was sent and not answered is sent again only if it is idempotent, to whoever
///   serves the slot then, until the deadline. If no answer ever comes, its outcome is unknown.
namespace holdfast::redis {

/// Says that the next command follows an ASK.
inline constexpr std::array<std::string_view, 1> asking_words{"ASKING"};

/// One command's way through the cluster.
struct operation {
    std::optional<unsigned> slot;
    node_use to;         ///< Where it goes; nobody: to be found by the map.
    node_use failed_at;  ///< Not there again, unless it may have been carried out.
    bool asking = false;
    bool was_sent = false;  ///< It may have been carried out.
    int redirects = 0;
    int waits = 0;
};

/// Thread safety: all members may be called from any thread.
class cluster_core : public std::enable_shared_from_this<cluster_core> {
public:
    cluster_core(const redis_cluster_target& target, std::shared_ptr<tls_context> tls, clock& time,
                 entropy& chance);
    ~cluster_core();

    /// As command_engine's.
    void exchange(std::span<const command> commands, std::span<result<reply>> replies,
                  time_point give_up);
    void submit(const command& c, time_point give_up, command_engine::completion done);
    [[nodiscard]] result<reply> transaction(std::span<const command> commands, time_point give_up);
    [[nodiscard]] result<std::unique_ptr<command_session>> open_session(std::string_view key,
                                                                        time_point give_up);
    [[nodiscard]] result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                                  channel_scope scope,
                                                                  push_handler handler,
                                                                  time_point give_up);

    [[nodiscard]] std::size_t node_of(std::string_view key) const {
        return nodes_.node_of(hash_slot(key));
    }

    /// The map may be wrong.
    void suspect();
    void read(redis_statistics& out) const;
    [[nodiscard]] clock& time() const noexcept { return time_; }

private:
    enum class step : std::uint8_t { done, again, pause, refresh };
    struct work {
        std::size_t index;
        operation way;
    };
    struct parcel;
    /// A submitted command.
    struct call {
        call(const command& c, time_point until, command_engine::completion told)
            : what(c), give_up(until), done(std::move(told)) {}
        detail::owned_command what;
        operation way;
        time_point give_up;
        command_engine::completion done;
        error why{errc::unavailable, {}};  ///< It was not sent.
    };

    // cluster_core.cpp
    [[nodiscard]] step judge(operation& way, repeat again, const result<reply>& answer);
    [[nodiscard]] result<bool> route(operation& way, time_point give_up);
    [[nodiscard]] duration pause_of(const operation& way);
    [[nodiscard]] bool rest(step why, const operation& way, time_point give_up);
    [[nodiscard]] static result<reply> final_answer(const operation& way, result<reply> answer);
    [[nodiscard]] result<server_address> where_to_listen(time_point give_up);
    void look();

    // cluster_exchange.cpp
    [[nodiscard]] bool in_one_trip(std::span<const command> commands,
                                   std::span<result<reply>> replies, time_point give_up,
                                   std::vector<work>& left);
    void send_all(std::vector<work>& todo, std::span<const command> commands,
                  std::span<result<reply>> replies, time_point give_up);
    [[nodiscard]] result<reply> transaction_at(const operation& way,
                                               std::span<const command> commands,
                                               time_point give_up);

    // cluster_submit.cpp
    void send(std::unique_ptr<call> c);
    void settle(std::unique_ptr<call> c, result<reply> answer);
    void send_waiting();

    clock& time_;
    entropy& chance_;
    std::atomic<bool> closing_ = false;
    std::mutex waiting_mutex_;
    std::vector<std::unique_ptr<call>> waiting_;  ///< Submitted before there was a map.
    bool may_send_ = false;                       ///< There is one, and nobody waits any more.
    std::mutex heard_mutex_;
    std::optional<server_address> heard_at_;    ///< Where global channels are heard.
    background thread_;                         ///< Stopped first, and destroyed last.
    std::shared_ptr<shard_channels> channels_;  ///< Closed before the nodes go.
    cluster_nodes nodes_;
    server_link global_;  ///< For global channels: on any node.
};

}  // namespace holdfast::redis

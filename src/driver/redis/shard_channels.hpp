// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/redis/cluster_nodes.hpp"

#include <list>
#include <memory>
#include <mutex>
#include <string>

/// The sharded channels that a client hears, each at the node of its slot.
///
/// The nodes' subscribers keep connections alive; here is kept which node a channel is heard at,
/// and it is taken to another one when its slot moves. Every move is told as a gap.
namespace holdfast::redis {

/// Thread safety: all members may be called from any thread, reconcile() from one.
class shard_channels : public std::enable_shared_from_this<shard_channels> {
public:
    shard_channels(cluster_nodes& nodes, clock& time) : nodes_(nodes), time_(time) {}

    [[nodiscard]] result<std::unique_ptr<subscription>> subscribe(std::string_view channel,
                                                                  push_handler handler,
                                                                  time_point give_up);
    /// The node does not serve the channel any more.
    void lost(const cluster_node& at, const std::string& channel);
    /// Takes every channel to where the map says that it is. Does not wait for the network.
    void reconcile();
    void close();

private:
    friend class shard_subscription;
    struct entry {
        std::string channel;
        std::shared_ptr<listener> who;
        node_use at;
        std::unique_ptr<subscription> there;  ///< Null while it is made.
        bool lost = false;
    };
    using place = std::list<entry>::iterator;
    void leave(place which);

    cluster_nodes& nodes_;
    clock& time_;
    std::mutex mutex_;
    std::list<entry> entries_;
    bool closed_ = false;
};

}  // namespace holdfast::redis

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/redis_server.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

/// A Redis Cluster of six nodes: three masters, a replica each.
namespace holdfast::test {

/// Complete when the constructor returns: every node says cluster_state:ok and knows all six.
/// Throws std::runtime_error with the log of what did not start.
class redis_cluster_group {
public:
    /// After `node_timeout` of silence a node's replica takes over. Long by itself, because on a
    /// busy machine a node that lives is silent for seconds; a case that ends one names a short
    /// time.
    explicit redis_cluster_group(const redis_options& each = {},
                                 std::chrono::milliseconds node_timeout = std::chrono::seconds(10));

    [[nodiscard]] std::vector<std::unique_ptr<redis_server>>& nodes() { return nodes_; }
    [[nodiscard]] std::vector<std::uint16_t> ports() const;
    /// redis-cluster://127.0.0.1:a,127.0.0.1:b,…; rediss-cluster: and the password where they are
    /// used.
    [[nodiscard]] std::string url() const;

    /// CLUSTER KEYSLOT.
    [[nodiscard]] std::uint16_t slot_of(std::string_view key);
    /// The master that serves the slot; and one that does not. Not with TLS: a node tells its TLS
    /// port over TLS only.
    [[nodiscard]] redis_server& owner_of(std::uint16_t slot);
    [[nodiscard]] redis_server& stranger_to(std::uint16_t slot);

    /// Moves a slot with its keys, and waits until every node knows.
    void move_slot(std::uint16_t slot, redis_server& to);

    /// The two halves of it. In between, the old owner answers ASK for keys that it does not have.
    void begin_slot_move(std::uint16_t slot, redis_server& to);
    void finish_slot_move(std::uint16_t slot, redis_server& to);

    /// Waits until every running node agrees that the cluster is whole.
    void await_ready();

private:
    [[nodiscard]] std::uint16_t owner_port(redis_server& by, std::uint16_t slot);

    std::string authority_;  ///< What url() begins with.
    std::vector<std::unique_ptr<redis_server>> nodes_;
};

}  // namespace holdfast::test

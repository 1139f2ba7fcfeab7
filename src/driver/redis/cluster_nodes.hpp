// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/hash_slot.hpp"
#include "driver/redis/server_link.hpp"

#include <holdfast/redis/redis_topology.hpp>

#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

/// The nodes of a cluster, and which of them serves which slot, as far as is known.
///
/// The map comes whole from CLUSTER SLOTS, and slot by slot from MOVED. It may be wrong at any
/// time: a command that goes to the wrong node is told so, and the map is read again.
namespace holdfast::redis {

struct cluster_node {
    server_address address;
    std::unique_ptr<server_link> link;
    std::atomic<int> users = 0;     ///< While there are any, it is not destroyed.
    std::size_t number = 0;         ///< From 1, in the order in which they became known.
    std::atomic<bool> met = false;  ///< Somebody has connected, or tried to.
    time_point wanted_at{};         ///< When it was last asked for. Guarded by the nodes' mutex.
};

/// Keeps a node from being destroyed.
class node_use {
public:
    node_use() = default;
    explicit node_use(cluster_node& node) noexcept : node_(&node) { ++node_->users; }
    node_use(const node_use& other) noexcept : node_(other.node_) {
        if (node_ != nullptr) ++node_->users;
    }
    node_use& operator=(node_use other) noexcept {
        std::swap(node_, other.node_);
        return *this;
    }
    ~node_use() {
        if (node_ != nullptr) --node_->users;
    }
    cluster_node* operator->() const noexcept { return node_; }
    explicit operator bool() const noexcept { return node_ != nullptr; }
    friend bool operator==(const node_use&, const node_use&) = default;

private:
    cluster_node* node_ = nullptr;
};

/// Thread safety: all members may be called from any thread, refresh() and bury() from one.
class cluster_nodes {
public:
    struct hooks {
        /// The map may be wrong: refresh() should be called soon.
        std::function<void()> suspect;
        /// A sharded channel left this node.
        std::function<void(const cluster_node&, const std::string& channel)> channel_moved;
    };
    cluster_nodes(const redis_cluster_target& target, std::shared_ptr<tls_context> tls, clock& time,
                  entropy& chance, hooks told);

    /// Who serves the slot; any node, if there is no slot. Blocks: until there is a map.
    /// Errors: unavailable (nobody serves it, no map), denied.
    [[nodiscard]] result<node_use> owner(std::optional<unsigned> slot, time_point give_up);

    /// Another node than that one, for a command without a key.
    [[nodiscard]] node_use other_than(const node_use& failed);
    [[nodiscard]] node_use at(const server_address& address);
    /// Where to listen to channels that are heard on every node. Another one each time.
    [[nodiscard]] server_address any_address();
    /// A number of the node that serves the slot; 0: nobody is known to.
    [[nodiscard]] std::size_t node_of(unsigned slot) const;
    [[nodiscard]] bool knows(const server_address& address);
    [[nodiscard]] bool mapped() const;
    /// Why there is no map.
    [[nodiscard]] error problem() const;

    void moved(unsigned slot, const server_address& to);

    /// Waits until refresh() has ended that began after this call. Requires: not on its thread.
    void await_refresh(time_point give_up);

    /// Reads the map. False: nobody answered.
    [[nodiscard]] bool refresh();
    /// Destroys nodes that left the cluster, once nobody uses them.
    void bury();
    void close();

    void read(redis_statistics& out) const;

private:
    struct slot_range {
        unsigned first;
        unsigned last;
        server_address owner;
    };
    using lock = std::unique_lock<std::mutex>;

    [[nodiscard]] cluster_node& make(const server_address& address);
    [[nodiscard]] std::vector<node_use> whom_to_ask();
    [[nodiscard]] result<std::vector<slot_range>> ask(const std::vector<node_use>& whom);
    static std::vector<slot_range> read_slots(const reply& answer, const server_address& from);
    void apply(const std::vector<slot_range>& ranges);

    const profile profile_;
    const std::vector<server_address> seeds_;
    clock& time_;
    entropy& chance_;
    const hooks told_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::unique_ptr<cluster_node>> nodes_;
    std::array<cluster_node*, slot_count> owners_{};
    std::optional<server_address> knows_best_;  ///< Where the last MOVED pointed to.
    error problem_{errc::unavailable, "no node of the cluster has answered yet"};
    std::uint64_t begun_ = 0;  ///< Refreshes,
    std::uint64_t ended_ = 0;  ///< … of which the last one that ended.
    std::size_t turn_ = 0;
    std::size_t numbered_ = 0;
    bool mapped_ = false;
    bool closing_ = false;
};

}  // namespace holdfast::redis

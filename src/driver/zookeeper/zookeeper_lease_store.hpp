// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/zookeeper/zookeeper_options.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>

/// Leases in a ZooKeeper ensemble: nodes in order, each of which lives by a session
/// (lease_core.hpp).
///
/// While the store lives it removes what nobody renewed at the end of its ttl. What a process that
/// died leaves ends with its session: after twice its ttl or more, or what the servers take as the
/// shortest timeout. They also have a longest: a lease lasts at most half of it, whatever was asked
/// for, and is renewed in that time. Names are served in the
/// order of coming; a request to barge waits its turn like any other, and a waiter that was away
/// for 3 s comes back as the last. A fence is 128 times the czxid of the holder's node.
namespace holdfast::zookeeper {

class lease_core;

class zookeeper_lease_store final : public lease_store {
public:
    /// Connects to nothing yet.
    [[nodiscard]] static std::shared_ptr<zookeeper_lease_store> make(zookeeper_options options,
                                                                     clock& time);
    zookeeper_lease_store(const zookeeper_lease_store&) = delete;
    zookeeper_lease_store& operator=(const zookeeper_lease_store&) = delete;
    ~zookeeper_lease_store() override;

    [[nodiscard]] capabilities can() const noexcept override;
    void exchange(std::span<const lease_request> requests, std::span<result<lease_reply>> replies,
                  time_point give_up) override;
    void submit(std::vector<lease_request> requests, time_point give_up,
                reply_handler on_reply) override;
    void on_push(push_handler handler) override;
    void settle(time_point until) override;
    void introduce(const client_id& id, const client_label& who) override;
    [[nodiscard]] result<std::vector<lease_info>> list(std::string_view prefix,
                                                       time_point give_up) override;
    [[nodiscard]] result<std::optional<lease_info>> inspect(const lock_name& name,
                                                            time_point give_up) override;
    [[nodiscard]] result<std::uint32_t> evict(const lock_name& name, std::string_view reason,
                                              time_point give_up) override;
    [[nodiscard]] result<lease_reply> adopt(const lease_adoption& asked,
                                            time_point give_up) override;
    [[nodiscard]] result<std::vector<eviction_info>> evictions(const lock_name& name,
                                                               time_point give_up) override;

private:
    struct flights {
        std::mutex mutex;
        std::condition_variable changed;
        std::size_t count = 0;
    };

    explicit zookeeper_lease_store(std::shared_ptr<lease_core> core, clock& time);
    [[nodiscard]] std::optional<error> refused() const;

    std::shared_ptr<lease_core> core_;
    clock& clock_;
    const unsigned generation_;
    std::shared_ptr<flights> submitted_ = std::make_shared<flights>();
};

}  // namespace holdfast::zookeeper

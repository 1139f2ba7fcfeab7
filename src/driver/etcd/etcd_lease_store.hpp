// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_options.hpp"

#include <holdfast/engine/lease_store.hpp>

#include <condition_variable>
#include <memory>
#include <mutex>

/// Leases in an etcd cluster: entries in order, each on a lease of etcd's (lease_core.hpp).
///
/// etcd counts leases in whole seconds, and ends them up to a second late: a ttl is rounded up, and
/// a dead holder's name is free a little after its ttl, never before. Names are served in the order
/// of coming; a request to barge waits its turn like any other, and a waiter that was away for 3 s
/// comes back as the last. A fence is 128 times the revision at which the holder's entry was made.
namespace holdfast::etcd {

class lease_core;

class etcd_lease_store final : public lease_store {
public:
    /// Errors: invalid_argument (a certificate that cannot be read). Connects to nothing yet.
    [[nodiscard]] static result<std::shared_ptr<etcd_lease_store>> make(etcd_options options,
                                                                        clock& time);
    etcd_lease_store(const etcd_lease_store&) = delete;
    etcd_lease_store& operator=(const etcd_lease_store&) = delete;
    ~etcd_lease_store() override;

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

    explicit etcd_lease_store(std::shared_ptr<lease_core> core, clock& time);
    [[nodiscard]] std::optional<error> refused() const;

    std::shared_ptr<lease_core> core_;
    clock& clock_;
    const unsigned generation_;
    std::shared_ptr<flights> submitted_ = std::make_shared<flights>();
};

}  // namespace holdfast::etcd

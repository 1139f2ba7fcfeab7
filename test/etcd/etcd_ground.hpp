// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "driver/etcd/etcd_lease_store.hpp"

#include "support/etcd_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/client.hpp>
#include <holdfast/engine/lease_store.hpp>
#include <holdfast/entropy.hpp>

#include <gmock/gmock.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// What the cases about etcd stand on: a server that they share, and stores on it.
namespace holdfast::test {

using namespace std::chrono_literals;

inline etcd_cluster& shared_etcd() {
    static etcd_cluster shared;
    return shared;
}

inline etcd::etcd_options etcd_at(std::initializer_list<std::uint16_t> ports) {
    etcd::etcd_options options;
    for (const std::uint16_t port : ports) options.servers.push_back({"127.0.0.1", port});
    return options;
}

/// A store, and what is pushed to it.
class etcd_store {
public:
    explicit etcd_store(etcd::etcd_options options = etcd_at({shared_etcd().port(0)}))
        : store_(etcd::etcd_lease_store::make(std::move(options), system_clock()).value()) {
        store_->on_push([box = box_](const lease_push& push) {
            const std::scoped_lock guard(box->mutex);
            if (const auto* given = std::get_if<handed_off>(&push)) box->given.push_back(*given);
        });
    }

    result<lease_reply> send(const lease_request& request, duration within = 5s) {
        result<lease_reply> reply;
        store_->exchange({&request, 1}, {&reply, 1}, system_clock().now() + within);
        return reply;
    }
    result<lease_reply> acquire(const lock_name& name, const owner_token& owner,
                                ask::when_busy otherwise = ask::when_busy::refuse,
                                duration ttl = 30s) {
        return send(ask::acquire{name, owner, {}, ttl, otherwise, {}, 0});
    }
    result<lease_reply> release(const lock_name& name, const owner_token& owner) {
        return send(ask::release{name, owner, {}});
    }
    /// Whatever became of a request, the same one again tells.
    result<lease_reply> again(const lease_request& request) {
        result<lease_reply> reply;
        wait_for(
            "an answer",
            [&] {
                reply = send(request);
                return reply.has_value();
            },
            30s);
        return reply;
    }
    std::vector<handed_off> heard() {
        const std::scoped_lock guard(box_->mutex);
        return box_->given;
    }
    etcd::etcd_lease_store* operator->() { return store_.get(); }

private:
    struct mailbox {
        std::mutex mutex;
        std::vector<handed_off> given;
    };
    std::shared_ptr<mailbox> box_ = std::make_shared<mailbox>();
    std::shared_ptr<etcd::etcd_lease_store> store_;
};

inline owner_token new_owner() {
    return owner_token::draw(system_entropy());
}
inline bool is_granted(const result<lease_reply>& reply) {
    return reply && std::holds_alternative<answer::granted>(*reply);
}
inline bool is_busy(const result<lease_reply>& reply) {
    return reply && std::holds_alternative<answer::busy>(*reply);
}
inline bool is_renewed(const result<lease_reply>& reply) {
    return reply && std::holds_alternative<answer::renewed>(*reply);
}
inline bool is_lost(const result<lease_reply>& reply) {
    return reply && std::holds_alternative<answer::lost>(*reply);
}
inline std::uint64_t fence_of(const result<lease_reply>& reply) {
    return std::get<answer::granted>(reply.value()).fence.value;
}
inline lock_name name_of(const std::string& text) {
    return *lock_name::make(text);
}

}  // namespace holdfast::test

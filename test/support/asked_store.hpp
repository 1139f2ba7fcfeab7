// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "support/wait_for.hpp"

#include <holdfast/client.hpp>
#include <holdfast/engine/lease_store.hpp>
#include <holdfast/entropy.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

/// A lease store as the cases about one engine use it: one request at a time.
namespace holdfast::test {

using namespace std::chrono_literals;

/// A store, and what is pushed to it.
template <class Store>
class asked_store {
public:
    explicit asked_store(std::shared_ptr<Store> store) : store_(std::move(store)) {
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
    Store& operator*() { return *store_; }
    Store* operator->() { return store_.get(); }

private:
    struct mailbox {
        std::mutex mutex;
        std::vector<handed_off> given;
    };
    std::shared_ptr<mailbox> box_ = std::make_shared<mailbox>();
    std::shared_ptr<Store> store_;
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

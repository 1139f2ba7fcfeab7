// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conformance/lease/testbed.hpp"
#include "support/wait_for.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

/// Two clients of one engine at the seam, for the cases about what every lease_store promises.
namespace holdfast::test {

using namespace std::chrono_literals;

/// Why a case is skipped where testbed::serves_by_entry().
inline constexpr auto by_entry = "allowed: a queue of entries, which the engine itself ends";

/// One client of the engine, as the seam sees it.
class party {
public:
    explicit party(testbed& bed) : bed_(bed), store_(bed.make_store()) {
        store_->on_push([box = box_](const lease_push& push) {
            if (const auto* given = std::get_if<handed_off>(&push)) {
                const std::scoped_lock guard(box->mutex);
                box->given.push_back(*given);
            }
        });
    }

    result<lease_reply> send(const lease_request& request) {
        result<lease_reply> reply;
        store_->exchange({&request, 1}, {&reply, 1}, bed_.time().now() + 5s);
        return reply;
    }
    result<lease_reply> acquire(const lock_name& name, const owner_token& owner,
                                ask::when_busy otherwise = ask::when_busy::refuse,
                                queue_ticket ticket = {}) {
        return send(ask::acquire{name, owner, {}, bed_.ttl(), otherwise, ticket, 0});
    }
    answer::busy join_queue(const lock_name& name, const owner_token& owner,
                            queue_ticket ticket = {}) {
        const auto reply = acquire(name, owner, ask::when_busy::join_queue, ticket);
        if (!reply || !std::holds_alternative<answer::busy>(*reply)) {
            ADD_FAILURE() << "expected a place in line";
            return {};
        }
        return std::get<answer::busy>(*reply);
    }
    bool renew(const lock_name& name, const owner_token& owner) {
        const auto reply = send(ask::renew{name, owner, {}, bed_.ttl()});
        return reply && std::holds_alternative<answer::renewed>(*reply);
    }
    bool release(const lock_name& name, const owner_token& owner) {
        const auto reply = send(ask::release{name, owner, {}});
        return reply && std::holds_alternative<answer::released>(*reply);
    }
    bool leave(const lock_name& name, const owner_token& owner) {
        const auto reply = send(ask::leave{name, owner, {}});
        return reply && std::get<answer::released>(*reply).found;
    }

    /// The pushes heard so far; empties the box.
    std::vector<handed_off> heard() {
        const std::scoped_lock guard(box_->mutex);
        std::vector<handed_off> all(box_->given.begin(), box_->given.end());
        box_->given.clear();
        return all;
    }
    handed_off next_push() {
        std::vector<handed_off> all;
        wait_for("a handoff", [&] { return !(all = heard()).empty(); });
        EXPECT_TRUE(all.size() == 1 || !store_->can().fair) << all.size();
        return all.front();
    }
    lease_store& store() { return *store_; }

private:
    struct mailbox {
        std::mutex mutex;
        std::deque<handed_off> given;
    };
    testbed& bed_;
    std::shared_ptr<mailbox> box_ = std::make_shared<mailbox>();
    std::shared_ptr<lease_store> store_;
};

class lease_seam : public testing::TestWithParam<lease_engine> {
protected:
    owner_token owner() { return owner_token::draw(system_entropy()); }

    /// An engine that does not promise an order hands nothing over either: it tells who waits.
    bool fair() { return one.store().can().fair; }

    static bool granted(const result<lease_reply>& reply) {
        return reply && std::holds_alternative<answer::granted>(*reply);
    }
    static bool busy(const result<lease_reply>& reply) {
        return reply && std::holds_alternative<answer::busy>(*reply);
    }
    static fencing_token fence(const result<lease_reply>& reply) {
        return std::get<answer::granted>(reply.value()).fence;
    }

    ask::acquire plain(const lock_name& name, const owner_token& who) const {
        return {name, who, {}, ttl, ask::when_busy::refuse, {}, 0};
    }

    std::unique_ptr<testbed> bed = GetParam().make();
    const duration ttl = bed->ttl();
    party one{*bed};
    party two{*bed};
    const lock_name job = *lock_name::make("job");
    const owner_token a = owner();
    const owner_token b = owner();
    const owner_token c = owner();
};

}  // namespace holdfast::test

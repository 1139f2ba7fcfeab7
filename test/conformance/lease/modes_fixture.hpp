// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "conformance/lease/seam_fixture.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

/// The seam with leases that others may hold too, for the cases about shared mode and permits.
namespace holdfast::test {

inline constexpr lease_mode exclusively{};
inline constexpr lease_mode shared{.type = lease_mode::kind::shared};
constexpr lease_mode permits(std::uint32_t count, std::uint32_t of) {
    return {.type = lease_mode::kind::permit, .permits = count, .limit = of};
}

class modes_seam : public lease_seam {
protected:
    using when = ask::when_busy;

    void SetUp() override {
        const auto can = one.store().can();
        if (!can.shared || !can.permits)
            GTEST_SKIP() << "allowed: this engine has exclusive leases only";
    }

    result<lease_reply> ask_for(party& who, const owner_token& owner, const lease_mode& mode,
                                when otherwise = when::refuse, queue_ticket ticket = {}) {
        return who.send(ask::acquire{.name = job,
                                     .owner = owner,
                                     .mode = mode,
                                     .ttl = ttl,
                                     .otherwise = otherwise,
                                     .ticket = ticket});
    }
    bool takes(party& who, const owner_token& owner, const lease_mode& mode) {
        return granted(ask_for(who, owner, mode));
    }
    fencing_token fence_for(party& who, const owner_token& owner, const lease_mode& mode) {
        return fence(ask_for(who, owner, mode));
    }
    answer::busy waits(party& who, const owner_token& owner, const lease_mode& mode,
                       queue_ticket ticket = {}) {
        const auto reply = ask_for(who, owner, mode, when::join_queue, ticket);
        if (!busy(reply)) {
            ADD_FAILURE() << "expected a place in line";
            return {};
        }
        return std::get<answer::busy>(*reply);
    }
    bool renews(party& who, const owner_token& owner, const lease_mode& mode) {
        const auto reply = who.send(ask::renew{job, owner, mode, ttl});
        return reply && std::holds_alternative<answer::renewed>(*reply);
    }
    bool releases(party& who, const owner_token& owner, const lease_mode& mode) {
        const auto reply = who.send(ask::release{job, owner, mode});
        return reply && std::holds_alternative<answer::released>(*reply);
    }
    bool leaves(party& who, const owner_token& owner, const lease_mode& mode) {
        const auto reply = who.send(ask::leave{job, owner, mode});
        return reply && std::get<answer::released>(*reply).found;
    }
    result<lease_reply> downgrades(party& who, const owner_token& owner, fencing_token held) {
        return who.send(ask::acquire{
            .name = job, .owner = owner, .mode = shared, .ttl = ttl, .ticket = {}, .turns = held});
    }
    /// Those told that they hold it now, as soon as there are so many, in the order of their
    /// fences. Where each watches for itself, they may be told in another.
    std::vector<owner_token> told(party& who, std::size_t count) {
        std::vector<handed_off> all;
        wait_for("handoffs", [&] {
            for (const handed_off& given : who.heard()) all.push_back(given);
            return all.size() >= count;
        });
        EXPECT_EQ(all.size(), count);
        if (bed->serves_by_entry()) std::ranges::sort(all, {}, &handed_off::fence);
        std::vector<owner_token> owners;
        for (const handed_off& given : all) owners.push_back(given.owner);
        return owners;
    }
    lease_info listed() {
        const auto all = two.store().list("job", bed->time().now() + 5s).value();
        return all.empty() ? lease_info{} : all.front();
    }
    static errc code(const result<lease_reply>& reply) {
        return reply ? errc{} : reply.error().code;
    }

    const owner_token d = owner();
    const owner_token e = owner();
};

}  // namespace holdfast::test

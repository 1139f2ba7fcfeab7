// SPDX-License-Identifier: Apache-2.0
//
// How long a holder blocks that is gone: for its ttl, also if it had the name by a handoff, and
// also if the first in line is stopped.
#include "conformance/lease/seam_fixture.hpp"

#include <algorithm>

namespace holdfast::test {
namespace {

class lease_seam_dead_holder : public lease_seam {
protected:
    static constexpr duration brief = 300ms;
    static constexpr duration step = 5ms;
    /// What a busy machine adds. Less than what is missing of a second between two looks.
    static constexpr duration late = 250ms;

    /// Connections and subscriptions are made before anything is measured.
    void SetUp() override {
        const lock_name warm = *lock_name::make("warm");
        ASSERT_TRUE(granted(one.acquire(warm, a)));
        one.join_queue(warm, b);
        two.join_queue(warm, c);
        EXPECT_TRUE(one.leave(warm, b));
        EXPECT_TRUE(two.leave(warm, c));
        EXPECT_TRUE(one.leave(warm, a));
    }

    /// An engine without an order of its own leaves a free name to the quickest.
    ask::acquire wanted(const owner_token& who, duration lasts, ask::when_busy otherwise) {
        ask::acquire asked{job, who, {}, lasts, otherwise, {}, 0};
        asked.barge = !fair();
        return asked;
    }
    duration stand(party& where, const owner_token& who, duration lasts) {
        const auto said = where.send(wanted(who, lasts, ask::when_busy::join_queue));
        return busy(said) ? std::get<answer::busy>(*said).poll_after : duration::zero();
    }

    /// Waits as a client does: looks when the engine said so, or tells it to. Answers how long it
    /// took from `since` until the name was granted.
    duration wait_as_a_client(party& where, const owner_token& who, duration poll_after,
                              time_point since) {
        time_point look = bed->time().now() + poll_after;
        for (;;) {
            const time_point now = bed->time().now();
            const bool told = std::ranges::any_of(
                where.heard(), [&](const handed_off& push) { return push.owner == who; });
            if (told || now >= look) {
                const auto said = where.send(wanted(who, ttl, ask::when_busy::join_queue));
                if (granted(said)) return bed->time().now() - since;
                look = now + std::get<answer::busy>(said.value()).poll_after;
            }
            bed->pass(step);
        }
    }
};

TEST_P(lease_seam_dead_holder, blocks_for_its_ttl_after_a_handoff) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    ASSERT_TRUE(granted(one.acquire(job, a)));
    ASSERT_GT(stand(one, b, brief), 0s);
    const duration look = stand(two, c, ttl);
    ASSERT_GT(look, 0s);
    ASSERT_TRUE(one.release(job, a));
    const time_point since = bed->time().now();
    if (!fair()) {
        ASSERT_EQ(one.next_push().owner, b);
        ASSERT_TRUE(granted(one.send(wanted(b, brief, ask::when_busy::join_queue))));
    }
    const duration took = wait_as_a_client(two, c, look, since);
    EXPECT_LT(took, brief + late);
    EXPECT_GE(took, brief - 20ms);
}

TEST_P(lease_seam_dead_holder, blocks_for_its_ttl_and_a_claim_if_the_first_in_line_is_stopped) {
    if (bed->serves_by_entry()) GTEST_SKIP() << by_entry;
    const time_point since = bed->time().now();
    ASSERT_TRUE(granted(one.send(wanted(a, brief, ask::when_busy::refuse))));
    ASSERT_GT(stand(one, b, brief), 0s);
    const duration look = stand(two, c, ttl);
    ASSERT_GT(look, 0s);
    EXPECT_LT(wait_as_a_client(two, c, look, since), 2 * brief + late);
}

INSTANTIATE_TEST_SUITE_P(on, lease_seam_dead_holder, testing::ValuesIn(lease_engines()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace holdfast::test

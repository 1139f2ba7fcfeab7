// SPDX-License-Identifier: Apache-2.0
#include "checkers/belief_checker.hpp"
#include "checkers/fence_checker.hpp"
#include "checkers/lease_checker.hpp"
#include "checkers/loss_checker.hpp"
#include "checkers/order_checker.hpp"
#include "checkers/vote_checker.hpp"
#include "drifting_clock.hpp"
#include "mutants.hpp"
#include "run.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string_view>

namespace holdfast::sim {
namespace {

using namespace std::chrono_literals;

struct told_believer final : believer {
    bool believing = true;
    [[nodiscard]] bool believes() const override { return believing; }
};

seen::holding_began holding(std::uint64_t number, std::uint64_t fence, const believer& who,
                            lease_mode mode = {}) {
    return {0ms, number, number, static_cast<unsigned>(number), "n", mode, {fence}, &who};
}

TEST(belief_checker, finds_two_that_believe_at_once_and_only_those) {
    belief_checker judge;
    told_believer first;
    told_believer second;
    judge.see(holding(1, 1, first));
    first.believing = false;
    judge.see(holding(2, 2, second));
    EXPECT_TRUE(judge.found().empty());
    told_believer third;
    judge.see(holding(3, 3, third));
    EXPECT_EQ(judge.found().size(), 1U);
}

TEST(belief_checker, lets_readers_be_together_and_counts_permits) {
    const lease_mode reads{lease_mode::kind::shared};
    const lease_mode two_of_three{lease_mode::kind::permit, 2, 3};
    told_believer all;
    belief_checker readers;
    readers.see(holding(1, 1, all, reads));
    readers.see(holding(2, 2, all, reads));
    EXPECT_TRUE(readers.found().empty());
    readers.see(holding(3, 3, all));
    EXPECT_FALSE(readers.found().empty());
    belief_checker permits;
    permits.see(holding(1, 1, all, two_of_three));
    EXPECT_TRUE(permits.found().empty());
    permits.see(holding(2, 2, all, two_of_three));
    EXPECT_FALSE(permits.found().empty());
}

TEST(fence_checker, finds_a_fence_that_was_given_twice_or_went_back) {
    told_believer all;
    fence_checker judge(true);
    judge.see(holding(1, 5, all));
    EXPECT_TRUE(judge.found().empty());
    judge.see(holding(2, 5, all));
    EXPECT_EQ(judge.found().size(), 1U);
    judge.see(holding(3, 4, all));
    EXPECT_EQ(judge.found().size(), 2U);
}

TEST(loss_checker, finds_a_loss_without_cause_and_only_that) {
    told_believer all;
    loss_checker judge;
    for (std::uint64_t i = 1; i <= 4; ++i) judge.see(holding(i, i, all));
    judge.see(seen::process_disturbed{0ms, 1});
    judge.see(seen::holding_ended{1ms, 1, true, loss_reason::expired});
    judge.see(seen::holding_ended{1ms, 2, true, loss_reason::max_hold});
    judge.see(seen::holding_ended{1ms, 3, false, loss_reason::none});
    EXPECT_TRUE(judge.found().empty());
    judge.see(seen::holding_ended{1ms, 4, true, loss_reason::expired});
    EXPECT_EQ(judge.found().size(), 1U);
}

TEST(lease_checker, finds_a_belief_that_outlives_its_lease) {
    lease_checker judge;
    judge.see(seen::belief_ending{1ms, 1, "n", {5}, true});
    EXPECT_TRUE(judge.found().empty());
    judge.see(seen::belief_ending{2ms, 1, "n", {5}, false});
    EXPECT_EQ(judge.found().size(), 1U);
}

// One owner in a quorum of three, from the outside.
struct voters {
    vote_checker judge{3};
    const lock_name name = *lock_name::make("n");
    const owner_token owner = *owner_token::parse("0123456789abcdef0123456789abcdef");
    const lease_request acquire =
        ask::acquire{.name = name, .owner = owner, .mode = {}, .ttl = 1s, .ticket = {}};
    const lease_request renew{ask::renew{.name = name, .owner = owner, .mode = {}, .ttl = 1s}};
    std::array<lease_request, 3> renewals{renew, renew, renew};

    void vote(unsigned node, std::uint64_t fence) {
        judge.see(
            seen::node_answered{1ms, 1, node, acquire, lease_reply(answer::granted{{fence}, 1s})});
    }
    void undo(unsigned node, std::uint64_t fence) {
        const lease_request request = ask::release{name, owner, {}, {fence}};
        judge.see(seen::node_asked{1ms, 1, node, request});
    }
    void ask() { judge.see(seen::request_sent{1ms, 1, acquire}); }
    void grant() {
        judge.see(seen::request_answered{1ms, 1, acquire, lease_reply(answer::granted{{9}, 1s})});
    }
    void ask_to_renew(moment at) {
        judge.see(seen::request_sent{at, 1, renew});
        for (unsigned node = 0; node < 3; ++node) {
            judge.see(seen::node_asked{at, 1, node, renewals[node]});
        }
    }
    void renewed_by(unsigned node, moment at) {
        judge.see(
            seen::node_answered{at, 1, node, renewals[node], lease_reply(answer::renewed{1s})});
    }
};

TEST(vote_checker, finds_a_vote_that_is_taken_back_from_one_that_was_granted) {
    voters all;
    all.ask();
    all.vote(0, 5);
    all.undo(0, 5);
    all.vote(0, 6);
    all.vote(1, 6);
    all.grant();
    all.undo(0, 5);
    EXPECT_TRUE(all.judge.found().empty());
    all.undo(0, 6);
    EXPECT_EQ(all.judge.found().size(), 1U);
}

TEST(vote_checker, finds_a_grant_that_counts_a_vote_which_is_being_undone) {
    voters all;
    all.ask();
    all.vote(0, 5);
    all.undo(0, 5);
    all.vote(0, 5);
    all.vote(1, 5);
    all.grant();
    EXPECT_EQ(all.judge.found().size(), 1U);
}

TEST(vote_checker, finds_a_renewal_that_a_majority_gave_and_nobody_heard_of) {
    voters all;
    all.ask();
    for (unsigned node = 0; node < 3; ++node) all.vote(node, 5);
    all.grant();
    all.ask_to_renew(100ms);
    all.renewed_by(0, 101ms);
    all.renewed_by(1, 102ms);
    all.judge.see(seen::request_answered{102ms, 1, all.renew, lease_reply(answer::renewed{1s})});
    all.renewed_by(2, 103ms);
    EXPECT_TRUE(all.judge.found().empty());
    all.ask_to_renew(200ms);
    for (unsigned node = 0; node < 3; ++node) all.renewed_by(node, 201ms);
    EXPECT_EQ(all.judge.found().size(), 1U);
}

TEST(simulation, has_quorums_whose_programs_are_granted_leases) {
    limits calm;
    calm.without.set();
    calm.servers = shape::quorum;
    std::set<unsigned> sizes;
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        const verdict seen = run_seed(seed, calm);
        sizes.insert(seen.how.nodes);
        EXPECT_TRUE(seen.good()) << seed << ": " << seen.found.front().text;
        EXPECT_GT(seen.events, 100U);
    }
    EXPECT_EQ(sizes, (std::set<unsigned>{3, 5}));
}

TEST(drifting_clock, says_when_it_will_show_a_time) {
    timeline world;
    for (const std::int64_t ppm : {-9000, -1, 0, 1, 9000}) {
        drifting_clock one(world, 17s, ppm);
        const time_point wanted = one.now() + 12345678us;
        const moment when = one.when_it_shows(wanted);
        timeline then;
        drifting_clock same(then, 17s, ppm);
        then.run_until(when - 1us, 1);
        EXPECT_LT(same.now(), wanted) << ppm;
        then.run_until(when, 1);
        EXPECT_GE(same.now(), wanted) << ppm;
    }
}

TEST(simulation, gives_the_same_run_for_the_same_seed_and_another_for_another) {
    const verdict once = run_seed(7, {});
    const verdict again = run_seed(7, {});
    EXPECT_EQ(once.hash, again.hash);
    EXPECT_EQ(once.events, again.events);
    EXPECT_NE(once.hash, run_seed(8, {}).hash);
}

TEST(simulation, leaves_out_the_faults_that_it_is_told_to) {
    limits none;
    none.without.set();
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const verdict calm = run_seed(seed, none);
        EXPECT_TRUE(calm.how.faults.none());
        EXPECT_TRUE(calm.good()) << seed << ": " << calm.found.front().text;
    }
}

TEST(mutants, have_a_name_each_and_a_sentence) {
    std::set<std::string_view> names;
    for (const mutant& one : all_mutants()) {
        EXPECT_TRUE(names.insert(one.name).second) << one.name;
        EXPECT_FALSE(one.what.empty()) << one.name;
    }
    EXPECT_GE(names.size(), 25U);
    EXPECT_EQ(find_mutant("no such bug"), nullptr);
}

}  // namespace
}  // namespace holdfast::sim

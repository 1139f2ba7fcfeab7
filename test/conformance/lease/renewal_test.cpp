// SPDX-License-Identifier: Apache-2.0
//
// Who makes a lease run longer: its holder's word, nobody, and nobody past max_hold.
#include "conformance/lease/mutex_fixture.hpp"

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class renewal_promise : public mutex_case {
protected:
    acquire_options fixed(duration wait = duration::zero()) const {
        return {.ttl = ttl, .wait = wait, .renewal = renewals::off};
    }
    /// Lets time pass until it is lost; answers when that was.
    time_point end_of(const lease& held) {
        while (held.held()) bed->pass(ttl / 200);
        return bed->time().now();
    }
    duration stored(const std::string& name = "job") {
        const auto seen = two.inspect(name).value();
        return seen && seen->remaining ? *seen->remaining : duration::zero();
    }
};

TEST_P(renewal_promise, a_lease_without_renewal_is_ours_for_its_ttl_and_no_longer) {
    const time_point before = bed->time().now();
    const auto held = one.mutex("job").acquire(fixed()).value();
    const time_point after = bed->time().now();
    const time_point end = end_of(held);
    EXPECT_GE(end, before + ttl - ttl / 100 - 2ms);
    EXPECT_LT(end, after + ttl + ttl / 4) << "the last step may have come late";
    EXPECT_EQ(held.reason(), loss_reason::expired);
    wait_for("lost() to fire", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(one.statistics().renewed, 0U);
    EXPECT_EQ(one.statistics().renewal_failures, 0U);
    bed->pass(ttl / 4 + bed->late());
    EXPECT_TRUE(is_free()) << "nothing has made it run longer on the engine";
}

TEST_P(renewal_promise, a_lease_without_renewal_learns_that_it_is_gone_before_its_time) {
    const auto held = one.mutex("job").acquire(fixed()).value();
    bed->forget("job");
    bed->pass(ttl / 2);
    wait_for("lost() to fire", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(held.reason(), loss_reason::missing);
}

TEST_P(renewal_promise, a_lease_without_renewal_that_was_waited_for_runs_for_the_whole_ttl) {
    auto first = take(one);
    auto waits =
        std::async(std::launch::async, [&] { return two.mutex("job").acquire(fixed(1h)).value(); });
    wait_for_waiters(1);
    ASSERT_TRUE(std::move(first).release());
    const auto held = pass_until(waits);
    wait_for("the whole ttl", [&] { return held.remaining() > ttl * 8 / 10 || !held.held(); });
    ASSERT_TRUE(held.held());
    const time_point end = bed->time().now() + held.remaining();
    bed->pass(ttl / 2);
    EXPECT_TRUE(held.held());
    EXPECT_GE(end_of(held), end - 1ms);
    EXPECT_LT(bed->time().now(), end + ttl / 4);
}

TEST_P(renewal_promise, the_holders_own_renewal_makes_it_run_for_as_long_as_it_says) {
    auto held = one.mutex("job").acquire(fixed()).value();
    bed->pass(ttl / 2);
    ASSERT_TRUE(held.renew());
    EXPECT_GT(held.remaining(), ttl * 8 / 10);
    ASSERT_TRUE(held.renew(2 * ttl));
    EXPECT_GT(held.remaining(), ttl * 18 / 10);
    ASSERT_TRUE(held.renew(ttl / 2)) << "and is never cut short";
    EXPECT_GT(held.remaining(), ttl * 17 / 10);
    bed->pass(ttl * 3 / 2);
    EXPECT_TRUE(held.held());
    EXPECT_FALSE(is_free());
    ASSERT_TRUE(std::move(held).release());
    EXPECT_TRUE(is_free());
}

TEST_P(renewal_promise, the_keeper_goes_on_with_the_ttl_of_the_holders_own_renewal) {
    auto held = take(one);
    ASSERT_TRUE(held.renew(3 * ttl));
    const std::uint64_t before = one.statistics().renewed;
    bed->pass(ttl + ttl / 10);
    wait_for("the keeper's renewal", [&] { return one.statistics().renewed > before; });
    EXPECT_GT(held.remaining(), 2 * ttl);
    EXPECT_GT(stored(), 2 * ttl);
}

TEST_P(renewal_promise, a_renewal_of_what_is_gone_is_told_and_is_a_loss) {
    auto held = take(one);
    bed->forget("job");
    EXPECT_EQ(held.renew().error(), errc::lease_lost);
    EXPECT_EQ(held.reason(), loss_reason::missing);
    wait_for("lost() to fire", [&] { return held.lost().stop_requested(); });
    EXPECT_EQ(held.renew().error(), errc::lease_lost);
    EXPECT_FALSE(std::move(held).release());
    EXPECT_EQ(held.renew(ttl).error(), errc::invalid_argument);
}

TEST_P(renewal_promise, a_renewal_takes_the_ttls_that_an_acquire_takes) {
    auto held = take(one);
    EXPECT_EQ(held.renew(1ms).error(), errc::invalid_argument);
    EXPECT_EQ(held.renew(25h).error(), errc::invalid_argument);
    EXPECT_TRUE(held.held());
}

TEST_P(renewal_promise, no_renewal_outlives_max_hold) {
    const duration most = ttl * 6 / 5;
    const auto held = one.mutex("job").acquire({.ttl = ttl, .wait = 0s, .max_hold = most}).value();
    const time_point end = bed->time().now() + most;
    while (held.held()) {
        bed->pass(ttl / 20);
        wait_for("the keeper to renew what is due", [&] {
            const duration left = end - bed->time().now() - ttl / 20;
            return !held.held() || held.remaining() > std::min(ttl / 2, left);
        });
    }
    EXPECT_EQ(held.reason(), loss_reason::max_hold);
    bed->pass(ttl / 4 + bed->late());
    EXPECT_TRUE(is_free()) << "the engine's lease ran out with max_hold";
}

TEST_P(renewal_promise, a_margin_for_drift_is_taken_off_and_renewed_in_time) {
    const auto held = one.mutex("job").acquire({.ttl = ttl, .wait = 0s, .drift = ttl / 2}).value();
    EXPECT_LE(held.remaining(), ttl / 2 - 2ms);
    EXPECT_GT(held.remaining(), ttl / 4);
    // The engine's lease says little here: it runs on for as long as the holder gives up.
    live_through(2 * ttl, one, [&] { return held.remaining() > ttl / 3 ? ttl : 0s; });
    EXPECT_TRUE(held.held());
}

TEST_P(renewal_promise, a_margin_for_drift_that_leaves_nothing_is_refused) {
    const auto with = [&](duration drift) {
        return one.mutex("job").acquire({.ttl = ttl, .wait = 0s, .drift = drift});
    };
    EXPECT_EQ(with(ttl - 2ms).error(), errc::invalid_argument);
    EXPECT_NE(with(ttl).error().detail.find("leave nothing of a ttl"), std::string::npos);
    EXPECT_EQ(with(-1ms).error(), errc::invalid_argument);
    auto held = with(0ms).value();
    EXPECT_TRUE(held.renew(ttl / 2));
    EXPECT_TRUE(std::move(held).release());
    auto drifts = with(ttl / 2).value();
    EXPECT_EQ(drifts.renew(ttl / 2).error(), errc::invalid_argument);
    EXPECT_TRUE(is_free("other"));
}

TEST_P(renewal_promise, is_locked_says_whether_anyone_holds_it) {
    auto mine = one.mutex("job");
    EXPECT_FALSE(mine.is_locked().value());
    auto held = take(two);
    EXPECT_TRUE(mine.is_locked().value());
    EXPECT_TRUE(one.shared_mutex("job").is_locked().value());
    ASSERT_TRUE(std::move(held).release());
    wait_for("it to be free", [&] { return !mine.is_locked().value(); });
}

HOLDFAST_ON_EVERY_ENGINE(renewal_promise);

}  // namespace
}  // namespace holdfast::test

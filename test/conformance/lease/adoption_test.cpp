// SPDX-License-Identifier: Apache-2.0
//
// A lease that is acquired in one process and released in another.
#include "conformance/lease/mutex_fixture.hpp"

#include <holdfast/lease_token.hpp>

namespace holdfast::test {
namespace {

using namespace std::chrono_literals;

class adoption_promise : public mutex_case {};

TEST_P(adoption_promise, a_detached_lease_is_adopted_with_its_fence_and_kept_there) {
    auto held = take(one);
    const fencing_token fence = held.fence();
    const auto lost = held.lost();
    const auto token = std::move(held).detach();
    ASSERT_TRUE(token);
    EXPECT_FALSE(held.held()) << "who detaches it stops believing at once";
    EXPECT_EQ(held.status(), lease_status::released);
    EXPECT_EQ(one.statistics().held, 0U);
    EXPECT_FALSE(is_free()) << "but nobody else can have it";

    const auto came = lease_token::parse(token->text());
    ASSERT_TRUE(came);
    EXPECT_EQ(came->name().value(), "job");
    EXPECT_EQ(came->fence(), fence);
    auto mine = two.adopt(*came, options());
    ASSERT_TRUE(mine) << mine.error().detail;
    EXPECT_TRUE(mine->held());
    EXPECT_EQ(mine->fence(), fence);
    live_through(2 * ttl, two);
    EXPECT_TRUE(mine->held());
    EXPECT_FALSE(lost.stop_requested());
    const auto seen = two.inspect("job").value();
    ASSERT_TRUE(seen);
    EXPECT_TRUE(seen->mine()) << "whoever lists it sees the new holder";
    ASSERT_TRUE(std::move(*mine).release());
    EXPECT_TRUE(is_free());
}

TEST_P(adoption_promise, a_token_is_taken_up_once) {
    const auto token = take(one).detach().value();
    auto mine = two.adopt(token, options());
    ASSERT_TRUE(mine) << mine.error().detail;
    EXPECT_EQ(one.adopt(token, options()).error(), errc::lease_lost);
    EXPECT_EQ(two.adopt(token, options()).error(), errc::lease_lost);
    EXPECT_TRUE(mine->held());
    EXPECT_TRUE(mine->renew());
    EXPECT_TRUE(std::move(*mine).release());
}

TEST_P(adoption_promise, a_token_that_nobody_takes_up_ends_with_the_lease) {
    const auto token = take(one).detach().value();
    bed->pass(ttl + ttl / 20 + bed->late() + 5ms);
    EXPECT_TRUE(is_free());
    EXPECT_EQ(two.adopt(token, options()).error(), errc::lease_lost);
}

TEST_P(adoption_promise, who_waits_gets_it_when_the_adopter_releases_it) {
    auto held = take(one);
    auto waits = std::async(std::launch::async,
                            [&] { return one.mutex("job").acquire(options(1h)).value(); });
    wait_for_waiters(1);
    const auto token = std::move(held).detach().value();
    auto mine = two.adopt(token, options());
    ASSERT_TRUE(mine) << mine.error().detail;
    EXPECT_EQ(waits.wait_for(20ms), std::future_status::timeout);
    const fencing_token fence = mine->fence();
    ASSERT_TRUE(std::move(*mine).release());
    EXPECT_GT(pass_until(waits).fence(), fence);
}

TEST_P(adoption_promise, a_lease_that_is_shared_goes_to_another_process_beside_the_others) {
    if (!one.can().shared) GTEST_SKIP() << "allowed: this engine has no shared leases";
    auto other = two.shared_mutex("job").acquire_shared(options()).value();
    auto reader = one.shared_mutex("job").acquire_shared(options()).value();
    const auto token = std::move(reader).detach().value();
    auto mine = two.adopt(token, options());
    ASSERT_TRUE(mine) << mine.error().detail;
    EXPECT_EQ(one.adopt(token, options()).error(), errc::lease_lost);
    EXPECT_EQ(mine->mode().type, lease_mode::kind::shared);
    live_through(ttl, two);
    EXPECT_TRUE(mine->held());
    ASSERT_TRUE(std::move(other).release());
    EXPECT_FALSE(is_free());
    ASSERT_TRUE(std::move(*mine).release());
    EXPECT_TRUE(is_free());
}

TEST_P(adoption_promise, permits_go_to_another_process) {
    if (!one.can().permits) GTEST_SKIP() << "allowed: this engine has no permits";
    auto held = one.semaphore("pool", 3).acquire(2, options()).value();
    auto mine = two.adopt(std::move(held).detach().value(), options());
    ASSERT_TRUE(mine) << mine.error().detail;
    EXPECT_EQ(one.semaphore("pool", 3).try_acquire(2, options()).error(), errc::busy);
    ASSERT_TRUE(std::move(*mine).release());
    EXPECT_TRUE(one.semaphore("pool", 3).try_acquire(3, options()));
}

TEST_P(adoption_promise, what_was_taken_away_meanwhile_is_not_adopted) {
    const auto token = take(one).detach().value();
    ASSERT_TRUE(two.evict("job", "make room"));
    const auto mine = two.adopt(token, options());
    ASSERT_FALSE(mine);
    EXPECT_EQ(mine.error(), errc::lease_lost);
    EXPECT_NE(mine.error().detail.find("make room"), std::string::npos) << mine.error().detail;
}

TEST_P(adoption_promise, only_what_is_held_can_be_detached) {
    auto held = take(one);
    EXPECT_TRUE(std::move(held).release());
    EXPECT_EQ(std::move(held).detach().error(), errc::invalid_argument);
    auto lost = take(one);
    bed->forget("job");
    EXPECT_EQ(lost.renew().error(), errc::lease_lost);
    EXPECT_EQ(std::move(lost).detach().error(), errc::lease_lost);
}

TEST_P(adoption_promise, what_is_no_token_is_refused_without_repeating_it) {
    const std::string good = take(one).detach().value().text();
    for (const std::string& bad : {std::string(), std::string("hf1"), good + "0", good + "-00",
                                   good.substr(1), "hf2" + good.substr(3)}) {
        const auto came = lease_token::parse(bad);
        ASSERT_FALSE(came) << bad;
        EXPECT_EQ(came.error(), errc::invalid_argument);
        EXPECT_EQ(came.error().detail.find(good.substr(4, 32)), std::string::npos);
    }
}

HOLDFAST_ON_EVERY_ENGINE(adoption_promise);

}  // namespace
}  // namespace holdfast::test

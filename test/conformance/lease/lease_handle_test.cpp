// SPDX-License-Identifier: Apache-2.0
//
// What a lease tells when it is over here: released, or moved away.
#include "conformance/lease/mutex_fixture.hpp"

namespace holdfast::test {
namespace {

class lease_handle_promise : public mutex_case {
protected:
    void expect_the_values_of(const lease& over, fencing_token fence) {
        EXPECT_EQ(over.name().value(), "job");
        EXPECT_EQ(over.fence(), fence);
        EXPECT_EQ(over.mode(), lease_mode{});
        EXPECT_FALSE(over.lost().stop_requested());
        EXPECT_FALSE(over.held());
        EXPECT_EQ(over.remaining(), duration::zero());
        EXPECT_EQ(over.status(), lease_status::released);
        EXPECT_EQ(over.reason(), loss_reason::none);
        EXPECT_EQ(over.loss_text(), "");
    }
};

TEST_P(lease_handle_promise, a_released_lease_still_tells_what_it_was) {
    auto held = take(one);
    const fencing_token fence = held.fence();
    EXPECT_GT(fence.value, 0U);
    EXPECT_TRUE(std::move(held).release());
    expect_the_values_of(held, fence);
    EXPECT_EQ(std::move(held).release().error(), errc::invalid_argument);
    EXPECT_EQ(held.downgrade().error(), errc::invalid_argument);
    EXPECT_TRUE(is_free());

    auto by_callback = take(one);
    const fencing_token next = by_callback.fence();
    std::promise<result<void>> said;
    std::move(by_callback).release_async([&](result<void> how) { said.set_value(how); });
    expect_the_values_of(by_callback, next);
    EXPECT_TRUE(said.get_future().get());
    EXPECT_TRUE(is_free());
}

TEST_P(lease_handle_promise, a_lease_that_was_lost_tells_what_it_was_after_its_release_too) {
    auto held = take(one);
    const fencing_token fence = held.fence();
    bed->forget("job");
    EXPECT_EQ(std::move(held).release().error(), errc::lease_lost);
    EXPECT_EQ(held.fence(), fence);
    EXPECT_EQ(held.name().value(), "job");
    EXPECT_FALSE(held.held());
}

TEST_P(lease_handle_promise, a_lease_that_was_moved_from_is_empty) {
    auto held = take(one);
    auto mine = std::move(held);
    EXPECT_EQ(held.name().value(), "");
    EXPECT_EQ(held.fence(), fencing_token{});
    EXPECT_EQ(held.mode(), lease_mode{});
    EXPECT_FALSE(held.lost().stop_possible());
    EXPECT_FALSE(held.held());
    EXPECT_EQ(held.status(), lease_status::released);
    EXPECT_EQ(std::move(held).release().error(), errc::invalid_argument);
    EXPECT_TRUE(mine.held());
    held = std::move(mine);
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(std::move(held).release());
}

TEST_P(lease_handle_promise, a_released_level_still_tells_its_fence) {
    auto outer = one.recursive_mutex("job").acquire(options()).value();
    auto inner = outer.acquire_again().value();
    const fencing_token fence = outer.fence();
    EXPECT_TRUE(std::move(inner).release());
    EXPECT_EQ(inner.fence(), fence);
    EXPECT_EQ(inner.shared().name().value(), "");
    EXPECT_FALSE(inner.shared().held());
    EXPECT_TRUE(std::move(outer).release());
    EXPECT_EQ(outer.fence(), fence);
}

HOLDFAST_ON_EVERY_ENGINE(lease_handle_promise);

}  // namespace
}  // namespace holdfast::test

// SPDX-License-Identifier: Apache-2.0
//
// A quorum of real servers whose clocks are set, or differ.
#include "redlock_servers.hpp"

#include "support/redis_server.hpp"
#include "support/shifted_clock.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

namespace holdfast {
namespace {

class redlock_with_clocks : public testing::Test {
protected:
    redlock_with_clocks() {
        for (std::size_t i = 0; i < 5; ++i) {
            servers.push_back(std::make_unique<test::redis_server>(test::redis_options{
                .preload = clocks[i].library(), .environment = clocks[i].environment()}));
        }
    }
    client connect() { return open(url_of(ports_of(servers), brisk)).value(); }

    std::array<test::shifted_clock, 5> clocks;
    std::vector<std::unique_ptr<test::redis_server>> servers;
};

TEST_F(redlock_with_clocks, two_clocks_that_jump_do_not_cost_a_lease_that_all_five_have) {
    auto one = connect();
    auto two = connect();
    auto held = one.mutex("job").acquire({.ttl = 5s, .wait = 5s}).value();
    const auto fence = held.fence();
    test::wait_for("all to have granted it", [&] {
        return std::ranges::all_of(
            servers, [](auto& server) { return server->raw("EXISTS", "lock:job").number() == 1; });
    });
    clocks[0].step(1min);
    clocks[1].step(1min);
    EXPECT_EQ(servers[0]->raw("EXISTS", "lock:job").number(), 0) << "the jump reached the server";
    EXPECT_EQ(two.mutex("job").try_acquire({.ttl = 5s}).error(), errc::busy);
    EXPECT_TRUE(held.held());
    EXPECT_TRUE(std::move(held).release());
    auto next = two.mutex("job").acquire(brief).value();
    EXPECT_GT(next.fence(), fence);
}

TEST_F(redlock_with_clocks, a_clock_that_is_set_is_counted_and_costs_no_lease_of_a_majority) {
    auto one = connect();
    const auto held = one.mutex("job").acquire({.ttl = 1500ms, .wait = 5s}).value();
    const auto other = one.mutex("other").acquire({.ttl = 1min, .wait = 5s}).value();
    test::wait_for("two renewals", [&] { return one.statistics().renewed >= 2; });
    clocks[0].step(1min);
    test::wait_for("it to be counted", [&] { return one.statistics().clock_steps == 1; });
    EXPECT_TRUE(held.held());
    EXPECT_EQ(other.status(), lease_status::held);
}

// A server far ahead gives the largest fence. When it is gone, the others must not fall behind it.
TEST_F(redlock_with_clocks, fences_grow_although_the_server_with_the_largest_is_lost) {
    clocks[0].step(1h);
    clocks[1].step(-1h);
    auto one = connect();
    auto ahead = one.mutex("job").acquire(brief).value();
    const auto fence = ahead.fence();
    EXPECT_TRUE(std::move(ahead).release());
    servers[0]->kill();
    auto two = connect();
    for (int i = 0; i < 3; ++i) {
        auto next = (i == 1 ? one : two).mutex("job").acquire(brief).value();
        EXPECT_GT(next.fence(), fence);
        EXPECT_TRUE(std::move(next).release());
    }
}

class redlock_of_three_with_clocks : public testing::Test {
protected:
    void start() {
        for (const test::shifted_clock& clock : clocks) {
            servers.push_back(std::make_unique<test::redis_server>(test::redis_options{
                .preload = test::shifted_clock::library(), .environment = clock.environment()}));
        }
    }
    client connect() {
        return open(url_of(ports_of(servers),
                           "?quarantine=2s&node_timeout=300ms&connect_timeout=300ms"
                           "&backoff_max=100ms"))
            .value();
    }

    std::array<test::shifted_clock, 3> clocks;
    std::vector<std::unique_ptr<test::redis_server>> servers;
};

const acquire_options patient{.ttl = 1s, .wait = 20s};

// What the first and the second would have stored is gone with the second's data and the first.
TEST_F(redlock_of_three_with_clocks,
       fences_never_go_back_although_one_lost_its_data_and_the_one_ahead_is_gone) {
    clocks[0].step(10min);
    start();
    servers[2]->kill();
    std::uint64_t last = 0;
    {
        auto one = connect();
        auto held = one.mutex("job").acquire({.ttl = 1s, .wait = 5s});
        if (held) last = held->fence().value;
        EXPECT_FALSE(held) << "after a loss nobody would know a fence so far ahead";
        if (!held) {
            EXPECT_EQ(held.error(), errc::unavailable);
            EXPECT_NE(held.error().detail.find("clock"), std::string::npos) << held.error().detail;
        }
    }
    servers[1]->restart();  // empty
    servers[2]->restart();
    servers[0]->kill();
    auto two = connect();
    const auto next = two.mutex("job").acquire(patient);
    ASSERT_TRUE(next) << to_string(next.error());
    EXPECT_GT(next->fence().value, last);
}

TEST_F(redlock_of_three_with_clocks,
       a_server_whose_clock_is_far_ahead_does_not_count_and_costs_none) {
    clocks[0].step(10min);
    start();
    auto one = connect();
    std::uint64_t last = 0;
    for (int i = 0; i < 4; ++i) {
        auto held = one.mutex("job").acquire(patient);
        ASSERT_TRUE(held) << to_string(held.error());
        EXPECT_GT(held->fence().value, last);
        last = held->fence().value;
        EXPECT_TRUE(std::move(*held).release());
    }
    const auto shown = system_clock().wall().time_since_epoch();
    EXPECT_LT(last,
              static_cast<std::uint64_t>(
                  std::chrono::duration_cast<std::chrono::microseconds>(shown + 1min).count()))
        << "the fence is not the one ahead's";
}

}  // namespace
}  // namespace holdfast

// SPDX-License-Identifier: Apache-2.0
//
// What a handoff leaves behind on a Redis server, and when that is written down which only people
// need.
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <utility>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_handoff : public testing::Test {
protected:
    /// Hands "job" from one client to the other.
    lease handed_off() {
        const acquire_options brief{.ttl = 2s, .wait = 10s};
        auto held = one.mutex("job").acquire(brief).value();
        auto waiter =
            std::async(std::launch::async, [&] { return two.mutex("job").acquire(brief).value(); });
        test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == 1; });
        EXPECT_TRUE(std::move(held).release());
        return waiter.get();
    }

    test::redis_server server;
    client one = open(server.url()).value();
    client two = open(server.url()).value();
};

// A release at once is another than one after a pause.
TEST_F(redis_handoff, leaves_nothing_when_the_name_is_given_back) {
    for (const duration pause : {duration::zero(), duration(5ms)}) {
        auto held = handed_off();
        EXPECT_EQ(two.statistics().handed_off, pause == duration::zero() ? 1U : 2U);
        std::this_thread::sleep_for(pause);  // style: allow clock, because it is what is tested
        EXPECT_TRUE(std::move(held).release());
        EXPECT_EQ(server.raw("KEYS", "*job*"), reply::array({})) << "after " << pause.count();
    }
}

// Its ticket is of a clock that was ahead, and has been set back since.
TEST_F(redis_handoff, goes_to_one_that_came_by_a_later_clock_before_a_newcomer) {
    const acquire_options brief{.ttl = 10s, .wait = 10s};
    const auto come = [&](client& who) {
        return std::async(std::launch::async, [&] { return who.mutex("job").acquire(brief); });
    };
    const auto await = [&](std::size_t waiters) {
        test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == waiters; });
    };
    auto held = one.mutex("job").acquire(brief).value();
    auto early = come(two);
    await(1);
    const std::string line = "{lock:job}:line";
    const reply head = server.raw("ZRANGE", line, "0", "0").elements().at(0);
    EXPECT_EQ(server.raw("ZADD", line, "XX", "CH", "4000000000000000", head.text()),
              reply::integer(1));
    client three = open(server.url()).value();
    auto late = come(three);
    await(2);
    EXPECT_EQ(server.raw("ZRANGE", line, "0", "0").elements().at(0), head);
    EXPECT_TRUE(std::move(held).release());
    auto next = early.get();
    ASSERT_TRUE(next) << to_string(next.error());
    EXPECT_TRUE(std::move(*next).release());
    EXPECT_TRUE(late.get());
}

TEST_F(redis_handoff, is_known_since_when_from_the_first_renewal_on) {
    const wall_time begun = system_clock().wall();
    const auto held = handed_off();
    const auto since = [&] { return one.list("job")->at(0).holders.at(0).since; };
    EXPECT_EQ(one.list("job")->at(0).holders.at(0).fence, held.fence());
    test::wait_for("a renewal", [&] { return since().has_value(); });
    EXPECT_GE(*since(), begun - 1ms);
    EXPECT_LE(*since(), system_clock().wall());
}

}  // namespace
}  // namespace holdfast

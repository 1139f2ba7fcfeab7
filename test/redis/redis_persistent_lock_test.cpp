// SPDX-License-Identifier: Apache-2.0
//
// A lock that an operator made persistent (PERSIST lock:N): held, until its holder or an operator
// ends it.
#include "support/redis_server.hpp"
#include "support/wait_for.hpp"

#include <holdfast/holdfast.hpp>

#include <gtest/gtest.h>

#include <future>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

class redis_persistent_lock : public testing::Test {
protected:
    static acquire_options brief(duration wait = 0s) { return {.ttl = 2s, .wait = wait}; }

    test::redis_server server;
    client one = open(server.url()).value();
    client two = open(server.url()).value();
};

// The holder believes for 20 s, and does not renew before a third of that.
TEST_F(redis_persistent_lock, stays_held) {
    auto held = one.mutex("job").acquire({.ttl = 20s}).value();
    server.raw("PERSIST", "lock:job");
    const auto refused = [&] {
        EXPECT_EQ(two.mutex("job").try_acquire(brief()).error(), errc::busy);
        EXPECT_EQ(two.shared_mutex("job").try_acquire_shared(brief()).error(), errc::busy);
        EXPECT_EQ(two.mutex("job").acquire(brief(50ms)).error(), errc::timed_out);
        EXPECT_EQ(server.raw("PTTL", "lock:job"), reply::integer(-1)) << "as the operator wants it";
    };
    refused();
    refused();  // and now it is marked
    auto waiter = std::async(std::launch::async,
                             [&] { return two.mutex("job").acquire(brief(10s)).has_value(); });
    test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == 1; });
    refused();
    ASSERT_TRUE(std::move(held).release());
    EXPECT_TRUE(waiter.get());
    test::wait_for("the waiter's lease to be given back",
                   [&] { return server.raw("EXISTS", "lock:job") == reply::integer(0); });
}

TEST_F(redis_persistent_lock, gets_its_ttl_again_by_a_renewal) {
    const auto alone = one.mutex("job").acquire(brief()).value();
    const auto reader = one.shared_mutex("doc").acquire_shared(brief()).value();
    auto waiter = std::async(std::launch::async, [&] {
        return two.mutex("job").acquire(brief(1s)).error() == errc::timed_out;
    });
    test::wait_for("a waiter", [&] { return one.list("job")->at(0).waiters == 1; });
    for (const auto* name : {"lock:job", "lock:doc"}) server.raw("PERSIST", name);
    test::wait_for("renewals", [&] {
        return server.raw("PTTL", "lock:job").number() > 0 &&
               server.raw("PTTL", "lock:doc").number() > 0;
    });
    EXPECT_TRUE(waiter.get());
    EXPECT_TRUE(alone.held());
    EXPECT_TRUE(reader.held());
}

TEST_F(redis_persistent_lock, can_be_shared_and_is_not_over_before_its_holder_lets_go) {
    auto first = one.shared_mutex("doc").acquire_shared({.ttl = 20s}).value();
    server.raw("PERSIST", "lock:doc");
    auto second = two.shared_mutex("doc").acquire_shared({.ttl = 20s}).value();
    server.raw("PERSIST", "lock:doc");
    EXPECT_EQ(two.mutex("doc").acquire(brief(50ms)).error(), errc::timed_out);
    ASSERT_TRUE(std::move(second).release());
    EXPECT_EQ(two.mutex("doc").acquire(brief(50ms)).error(), errc::timed_out);
    ASSERT_TRUE(std::move(first).release());
    EXPECT_TRUE(two.mutex("doc").try_acquire(brief()));
}

}  // namespace
}  // namespace holdfast
